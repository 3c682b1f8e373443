//! The driver behind `upstream.request`: hands each request to the backend it names.

use std::collections::HashMap;
use std::sync::Arc;

use haft_driver::{Attempt, BackendRequest, BoxFuture, Driver, Failure, Output};
use haft_model::{Code, DriverId, EffectState, Stop};

/// The backends of a workspace, by their drivers.
pub struct Upstream {
    backends: HashMap<DriverId, Arc<dyn Driver>>,
}

impl Upstream {
    /// Takes the drivers that have a backend.
    pub fn of(drivers: &HashMap<DriverId, Arc<dyn Driver>>) -> Upstream {
        let with_backend = drivers.iter().filter(|(_, driver)| driver.backend().is_some());
        let backends = with_backend.map(|(id, driver)| (id.clone(), driver.clone()));
        Upstream { backends: backends.collect() }
    }
}

impl Driver for Upstream {
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let request = BackendRequest::of(&attempt)?;
            let driver = self.backends.get(&DriverId::from(request.driver.as_str()));
            let Some(backend) = driver.and_then(|driver| driver.backend()) else {
                let words = format!("driver `{}` has nothing beside its tools", request.driver);
                return Err(Failure::new(
                    Stop::new(Code::ResourceNotFound, words),
                    EffectState::None,
                ));
            };
            backend.request(attempt, request).await
        })
    }
}
