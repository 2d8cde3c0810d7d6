//! Logging in at a camera: a WS-UsernameToken with a digest (Web Services Security UsernameToken Profile 1.0, section 3.1).

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use sha1::{Digest, Sha1};

/// A user of a camera, and the password. Neither is printed.
#[derive(Clone, Deserialize)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

impl Login {
    /// The header of a request, at a time of the camera's clock such as `2026-11-29T13:00:00Z`. The password is not in it, and the digest is good for
    /// this time only.
    pub(super) fn header(&self, created: &str) -> String {
        self.header_with(created, fastrand::u128(..).to_be_bytes())
    }

    fn header_with(&self, created: &str, nonce: [u8; 16]) -> String {
        let mut hash = Sha1::new();
        hash.update(nonce);
        hash.update(created);
        hash.update(&self.password);
        let digest = BASE64_STANDARD.encode(hash.finalize());
        let nonce = BASE64_STANDARD.encode(nonce);
        let user = quick_xml::escape::escape(self.user.as_str());
        format!(
            "<Security s:mustUnderstand=\"true\" xmlns=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
             <UsernameToken><Username>{user}</Username>\
             <Password Type=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest\">{digest}</Password>\
             <Nonce EncodingType=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary\">{nonce}</Nonce>\
             <Created xmlns=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">{created}</Created>\
             </UsernameToken></Security>"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_onvifs_programmers_guide() {
        // ONVIF Application Programmer's Guide 1.0, section 6.1.1.3.
        let nonce = BASE64_STANDARD.decode("LKqI6G/AikKCQrN0zqZFlg==").unwrap();
        let login = Login { user: "us<er".into(), password: "userpassword".into() };
        let header = login.header_with("2010-09-16T07:50:45Z", nonce.try_into().unwrap());
        assert!(header.contains("tuOSpGlFlIXsozq4HFNeeGeFLEI="), "{header}");
        assert!(header.contains("<Username>us&lt;er</Username>") && !header.contains("userpassword"));
        assert_ne!(login.header("2010-09-16T07:50:45Z"), login.header("2010-09-16T07:50:45Z"));
        assert_eq!(format!("{login:?}"), "Login");
    }
}
