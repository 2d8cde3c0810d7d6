//! Who logs in: a user and a password, from a file or the environment.

use std::fmt;
use std::path::Path;

/// The environment variable of the user.
pub const USER: &str = "CUDAINFER_PUBLISH_USER";
/// The environment variable of the password.
pub const PASSWORD: &str = "CUDAINFER_PUBLISH_PASSWORD";

/// A user and a password, which no message shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(***)")
    }
}

/// Why there are no credentials; each a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CredentialsError {
    #[error(
        "the credentials '{file}' cannot be read: {reason}. Set credentials to a file with the user on its first line and the password on its second"
    )]
    File { file: String, reason: std::io::Error },
    #[error(
        "the credentials '{0}' must be a file with the user on its first line and the password on its second, as UTF-8"
    )]
    Form(String),
    #[error("{PASSWORD} is set, but {USER} is not. Set both or none")]
    NoUser,
}

impl Credentials {
    /// Those in `file`, or else those in the environment, or none.
    ///
    /// # Errors
    /// The file cannot be read or has another form.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, CredentialsError> {
        if let Some(file) = file {
            let name = file.display().to_string();
            let text = cudainfer_files::text(file)
                .map_err(|reason| CredentialsError::File { file: name.clone(), reason })?;
            return Self::read(&text).map(Some).ok_or(CredentialsError::Form(name));
        }
        Self::of(std::env::var(USER).ok(), std::env::var(PASSWORD).ok())
    }

    fn of(user: Option<String>, password: Option<String>) -> Result<Option<Self>, CredentialsError> {
        match (user.filter(|user| !user.is_empty()), password) {
            (Some(user), password) => Ok(Some(Self { user, password: password.unwrap_or_default() })),
            (None, Some(password)) if !password.is_empty() => Err(CredentialsError::NoUser),
            _ => Ok(None),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::to_owned);
        let (user, password) =
            (lines.next().filter(|user| !user.is_empty())?, lines.next().unwrap_or_default());
        lines.all(|line| line.is_empty()).then_some(Self { user, password })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_are_user_and_password_and_neither_is_shown() {
        let read = Credentials::read("me\r\nsecret word\n").unwrap();
        assert_eq!((read.user.as_str(), read.password.as_str()), ("me", "secret word"));
        assert!(!format!("{read:?}").contains("secret"));
        for bad in ["", "\nsecret", "a\nb\nc"] {
            assert_eq!(Credentials::read(bad), None);
        }
        let [user, password] = ["me", "secret"].map(|text| Some(text.to_owned()));
        assert!(Credentials::of(user.clone(), password.clone()).unwrap().is_some());
        assert!(Credentials::of(user, None).unwrap().is_some());
        assert!(Credentials::of(None, None).unwrap().is_none());
        let said = Credentials::of(None, password).unwrap_err().to_string();
        assert!(said.contains(USER) && !said.contains("secret"), "{said}");
        let said = Credentials::find(Some(Path::new("/nowhere/login"))).unwrap_err().to_string();
        assert!(said.contains("'/nowhere/login'") && said.contains("first line"), "{said}");
    }
}
