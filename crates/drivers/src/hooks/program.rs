//! Program hook: runs a confined program with the question on stdin and the answer on stdout.

use std::future::pending;
use std::time::Instant;

use haft_driver::{BoxFuture, Hook, HookAnswer, HookInput};
use haft_sandbox::{Access, Bounds, ConfinedProgram, ExitKind, MountedPath, ProgramExit};

use super::{Post, posted, wire};
use crate::WorkingFolder;
use crate::failure::{OUT_OF_MEMORY, complaint};

/// A hook that runs a program.
pub struct ProgramHook {
    post: Post,
    command: Vec<String>,
    place: WorkingFolder,
}

impl ProgramHook {
    /// Builds a hook from a command: the program, then its arguments.
    pub fn new(post: Post, command: Vec<String>, place: WorkingFolder) -> ProgramHook {
        ProgramHook { post, command, place }
    }

    fn confined(&self, stdin: Vec<u8>) -> Result<ConfinedProgram, String> {
        let (program, args) = self.command.split_first().ok_or("it names no program")?;
        let root = self
            .place
            .real_root()
            .map_err(|fault| format!("the workspace cannot be found: {fault}"))?;
        let program = self.place.program(&root, program);
        let mut shown = vec![MountedPath { path: root.clone(), access: Access::Read }];
        if program.is_absolute() && !program.starts_with(&root) && program.exists() {
            shown.push(MountedPath { path: program.clone(), access: Access::Read });
        }
        let hidden = self.place.hidden_in(&root);
        let bounds = Bounds { output: wire::LONGEST, ..Bounds::default() };
        let args = args.to_vec();
        Ok(ConfinedProgram {
            program,
            args,
            stdin,
            shown,
            hidden,
            cwd: root,
            bounds,
            ..ConfinedProgram::default()
        })
    }

    async fn asked(&self, heard: HookInput<'_>) -> Result<HookAnswer, String> {
        let confined = self.confined(wire::question(self.post.point, &heard))?;
        let deadline = Instant::now() + self.post.timeout;
        let ran = confined.run(&self.place.walls, deadline, pending()).await;
        let ended = ran.map_err(|refused| refused.to_string())?;
        let answer = self.said(&ended)?;
        Ok(self.post.weighed(answer))
    }

    fn said(&self, ended: &ProgramExit) -> Result<HookAnswer, String> {
        let complaint = complaint(&ended.stderr);
        match ended.end {
            ExitKind::OutOfTime | ExitKind::CalledOff => Err(self.post.late()),
            ExitKind::OutOfMemory => Err(format!("it was ended: {OUT_OF_MEMORY}")),
            ExitKind::Killed(signal) => Err(format!("it was ended by signal {signal}{complaint}")),
            ExitKind::Exited(0) if ended.truncated => {
                Err(format!("it said more than {} bytes", wire::LONGEST))
            }
            ExitKind::Exited(0) => wire::answer(self.post.point, &ended.stdout),
            ExitKind::Exited(code) => Err(format!("it ended with code {code}{complaint}")),
        }
    }
}

impl Hook for ProgramHook {
    posted!();

    fn hear<'a>(&'a self, heard: HookInput<'a>) -> BoxFuture<'a, Result<HookAnswer, String>> {
        Box::pin(self.asked(heard))
    }
}
