//! Logging in to a server elsewhere, with somebody who gives out logins.

use haft_drivers::mcp::{Asked, Login, Wish};
use haft_model::{Code, Stop};
use haft_sandbox::AddressGuard;

use crate::office::{Office, encoded, query};

impl Office {
    fn guard(&self) -> AddressGuard {
        AddressGuard::public().allowing("127.0.0.1", self.port)
    }

    async fn asked(&self) -> Result<Asked, Stop> {
        let wish = Wish {
            url: format!("{}/mcp", self.base()),
            redirect_uri: "http://127.0.0.1:1/callback".into(),
            scopes: vec!["notes".into()],
            ..Wish::default()
        };
        Asked::begin(wish, self.guard()).await
    }
}

#[tokio::test]
async fn a_person_agrees_once_and_the_login_renews_itself() {
    let office = Office::new();
    let asked = office.asked().await.unwrap();
    let address = asked.address().to_owned();
    assert!(address.starts_with(&format!("{}/authorize?", office.base())), "{address}");
    assert_eq!(query(&address, "code_challenge_method"), "S256");
    assert_eq!(query(&address, "resource"), encoded(&format!("{}/mcp", office.base())));
    let state = query(&address, "state");
    let iss = encoded(&office.base());
    let back = format!("http://127.0.0.1:1/callback?code=x&state={state}&iss={iss}");
    let login = asked.answered(&back).await.unwrap();
    assert_eq!(login.token.expose(), "token-1");
    let form = office.forms.lock().unwrap()[0].clone();
    assert!(form.contains("code_verifier=") && form.contains("resource="), "{form}");
    let url = format!("{}/mcp", office.base());
    let renewed = Login::renewed(&url, &login.kept, office.guard()).await.unwrap();
    assert_eq!(renewed.token.expose(), "token-2");
    let form = office.forms.lock().unwrap()[1].clone();
    assert!(
        form.contains("grant_type=refresh_token") && form.contains("refresh_token=r1"),
        "{form}"
    );
    // It is good for an hour now, and nobody is asked.
    let again = Login::renewed(&url, &renewed.kept, office.guard()).await.unwrap();
    assert_eq!((again.token.expose(), office.forms.lock().unwrap().len()), ("token-2", 2));
    assert_eq!(*office.shown.lock().unwrap(), [""; 0], "a login shows nobody a token");
    assert_eq!(format!("{again:?}"), "Login { kept: Secret, token: Secret }");
}

#[tokio::test]
async fn an_answer_to_another_question_or_by_somebody_else_is_no_login() {
    let office = Office::new();
    let iss = encoded(&office.base());
    let stranger = encoded("https://stranger.example");
    for (state, iss) in [(Some("other"), iss.as_str()), (None, &stranger), (None, "")] {
        let asked = office.asked().await.unwrap();
        let state = state.map_or_else(|| query(asked.address(), "state"), str::to_owned);
        let iss = if iss.is_empty() { String::new() } else { format!("&iss={iss}") };
        let back = format!("http://127.0.0.1:1/callback?code=x&state={state}{iss}");
        assert_eq!(asked.answered(&back).await.unwrap_err().code, Code::CredentialMissing);
    }
    assert_eq!(office.forms.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn nobody_is_asked_at_an_address_that_is_closed() {
    let office = Office::new();
    let wish = Wish { url: format!("{}/mcp", office.base()), ..Wish::default() };
    assert!(Asked::begin(wish, AddressGuard::public()).await.is_err());
}
