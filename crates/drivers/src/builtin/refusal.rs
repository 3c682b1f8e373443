//! Path refusal: maps a file error to a refusal, whose message never holds a path of the machine.

use haft_model::{Cause, CauseDetail, Code, Stop};
use rustix::io::Errno;

use super::place::WorkspacePath;
use super::running;

/// Why a path cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathRefusal {
    /// A symlink on the way leads out of the workspace.
    Outside,
    /// It is Haft's state folder.
    House,
    /// It is a file that governs the workspace.
    Rules,
    /// It has several hard links, and an append would change the others too.
    HardLinked,
    /// It is a folder, and a file is needed.
    IsFolder,
    /// It is a file, and a folder is needed.
    IsFile,
    /// It is neither a file nor a folder.
    IsOther,
    /// The system call failed.
    System(Errno),
}

impl From<Errno> for PathRefusal {
    fn from(errno: Errno) -> PathRefusal {
        match errno {
            Errno::ISDIR => PathRefusal::IsFolder,
            Errno::NOTDIR => PathRefusal::IsFile,
            other => PathRefusal::System(other),
        }
    }
}

impl From<std::io::Error> for PathRefusal {
    fn from(fault: std::io::Error) -> PathRefusal {
        Errno::from_io_error(&fault).unwrap_or(Errno::IO).into()
    }
}

impl PathRefusal {
    /// The refusal as a `Stop` about a path.
    pub(crate) fn about(self, place: &WorkspacePath) -> Stop {
        let path = &place.written;
        let (code, why) = match self {
            PathRefusal::Outside => (Code::SandboxViolation, "leads out of the workspace"),
            PathRefusal::House => (Code::SandboxViolation, "belongs to Haft itself"),
            PathRefusal::Rules => {
                (Code::SandboxViolation, "governs the workspace, so no tool may write it")
            }
            PathRefusal::HardLinked => (
                Code::SandboxViolation,
                "has other names (hard links), which may govern; replace it instead of adding to it",
            ),
            PathRefusal::IsFolder => (Code::InputValue, "is a folder"),
            PathRefusal::IsFile => (Code::InputValue, "is not a folder, or lies below a file"),
            PathRefusal::IsOther => (Code::InputValue, "is neither a file nor a folder"),
            PathRefusal::System(errno) => return system(errno, path),
        };
        running(code, format!("`{path}` {why}")).at("/path")
    }
}

fn system(errno: Errno, path: &str) -> Stop {
    let (code, why) = match errno {
        Errno::NOENT => (Code::ResourceNotFound, "does not exist"),
        Errno::ACCESS | Errno::PERM => {
            (Code::PermissionDenied, "is not open to the user that Haft runs as")
        }
        Errno::ROFS => (Code::PermissionDenied, "lies where nothing can be written"),
        Errno::EXIST => (Code::Conflict, "exists already"),
        Errno::LOOP => (Code::InputValue, "goes through too many links"),
        Errno::NAMETOOLONG => (Code::InputValue, "is longer than a file name can be"),
        Errno::NOSPC | Errno::DQUOT => (Code::ExecutionFailed, "needs more space than is left"),
        Errno::FBIG => (Code::ExecutionFailed, "would be larger than a file can be"),
        _ => (Code::ExecutionFailed, "could not be used"),
    };
    let cause = Cause::running().with(CauseDetail::Errno(errno.raw_os_error()));
    Stop::new(code, format!("`{path}` {why}")).at("/path").because(cause)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn system_error_maps_to_code_and_path_as_written() {
        let place = WorkspacePath::of(&json!({"path": "./a"})).unwrap();
        let cases = [
            (Errno::NOENT, Code::ResourceNotFound, "`./a` does not exist"),
            (
                Errno::ACCESS,
                Code::PermissionDenied,
                "`./a` is not open to the user that Haft runs as",
            ),
            (Errno::ROFS, Code::PermissionDenied, "`./a` lies where nothing can be written"),
            (Errno::ISDIR, Code::InputValue, "`./a` is a folder"),
            (Errno::NOTDIR, Code::InputValue, "`./a` is not a folder, or lies below a file"),
            (Errno::EXIST, Code::Conflict, "`./a` exists already"),
            (Errno::NOSPC, Code::ExecutionFailed, "`./a` needs more space than is left"),
            (Errno::IO, Code::ExecutionFailed, "`./a` could not be used"),
        ];
        for (errno, code, message) in cases {
            let stop = PathRefusal::from(errno).about(&place);
            assert_eq!((stop.code, stop.message.as_str()), (code, message));
            assert!(stop.cause.is_running());
            assert_eq!(stop.field.as_deref(), Some("/path"));
        }
    }
}
