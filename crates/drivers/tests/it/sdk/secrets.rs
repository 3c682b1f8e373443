//! Tests of sdk secrets: clients that are created with them, and workers that hold them.

use haft_model::{Code, EffectState};
use serde_json::json;

use crate::sdk::stage::{BOTH, Language, Stage};

fn client(language: Language) -> Stage {
    let mut stage = Stage::reading(language, "Client.messages.create");
    stage.secrets.insert("ODD_KEY", "own:");
    stage.with("client_options", json!({"key": "${secrets.ODD_KEY}"}))
}

#[tokio::test]
async fn sdk_client_created_once_per_actor_with_own_secrets() {
    for language in BOTH {
        let mut stage = client(language);
        let driver = stage.driver();
        let mut said = Vec::new();
        for actor in ["agent:ana", "agent:bo", "agent:ana"] {
            stage.actor = actor;
            said.push(stage.call(&driver, json!({"text": "hi"})).await.value());
        }
        let expected = ["agent:ana says hi (1)", "agent:bo says hi (1)", "agent:ana says hi (1)"];
        assert_eq!(said, expected, "{language:?}");
    }
}

#[tokio::test]
async fn a_secret_that_changed_makes_another_client() {
    for language in BOTH {
        let mut stage = client(language);
        let driver = stage.driver();
        let before = stage.call(&driver, json!({"text": "hi"})).await.value();
        stage.secrets.insert("ODD_KEY", "new");
        let after = stage.call(&driver, json!({"text": "hi"})).await.value();
        assert_eq!([before, after], ["agent:ana says hi (1)", "new says hi (2)"]);
    }
}

#[tokio::test]
async fn entry_client_options_override_driver_options() {
    for language in BOTH {
        let stage = client(language).entry("haft", "client_options", json!({"key": "plain"}));
        let said = stage.run(json!({"text": "hi"})).await.value();
        assert_eq!(said, "plain says hi (1)");
    }
}

#[tokio::test]
async fn secret_without_template_is_env_variable_of_actors_worker() {
    for language in BOTH {
        let mut stage = Stage::reading(language, "variable");
        stage.secrets.insert("ODD_KEY", "own:");
        let stage = stage.with("auth", json!({"state": {"env": ["ODD_KEY"]}}));
        let driver = stage.driver();
        let input = json!({"name": "ODD_KEY"});
        assert_eq!(stage.call(&driver, input.clone()).await.value(), "agent:ana");
        let other = Stage { actor: "agent:bo", ..stage };
        assert_eq!(other.call(&driver, input).await.value(), "agent:bo");
    }
}

#[tokio::test]
async fn missing_secret_fails_call_before_submission() {
    for language in BOTH {
        let mut stage = client(language);
        stage.secrets.clear();
        let fate = stage.run(json!({"text": "hi"})).await.fate();
        assert_eq!(fate, (Code::CredentialMissing, EffectState::NotSubmitted, 0));
    }
}

#[tokio::test]
async fn exception_matching_expiry_rule_reports_missing_credential() {
    for language in BOTH {
        let mut stage = client(language);
        stage.secrets.insert("ODD_KEY", "expired");
        let stage = stage.with("auth", json!({"expiry": {"detect": "exception:LoginOver"}}));
        let fate = stage.run(json!({"text": "hi"})).await.fate();
        assert_eq!(fate, (Code::CredentialMissing, EffectState::NotSubmitted, 0));
    }
}
