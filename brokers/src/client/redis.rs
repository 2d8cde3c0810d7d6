//! A Redis stream: each message is an entry with the fields `id` and `record`.

use redis::{
    ClientTlsConfig, Connection, ConnectionAddr, ErrorKind, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, RedisResult, ServerErrorKind, TlsCertificates,
};

use super::{Access, Client, Failure, Sent, TIMEOUT, explain};
use crate::Message;

pub(super) struct Redis {
    connection: Connection,
    access: Access,
}

impl Redis {
    pub fn connect(access: &Access) -> Result<Self, Failure> {
        let connection = client(access).and_then(|client| {
            let connection = client.get_connection_with_timeout(TIMEOUT)?;
            connection.set_read_timeout(Some(TIMEOUT))?;
            connection.set_write_timeout(Some(TIMEOUT))?;
            Ok(connection)
        });
        Ok(Self { connection: connection.map_err(|e| failure(&e))?, access: access.clone() })
    }
}

fn client(access: &Access) -> Result<redis::Client, RedisError> {
    let (host, port) = (access.destination.host.clone(), access.destination.port);
    let addr = match access.tls {
        Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        None => ConnectionAddr::Tcp(host, port),
    };
    let mut settings = RedisConnectionInfo::default();
    if let Some(login) = &access.credentials {
        settings = settings.set_username(&login.user).set_password(&login.password);
    }
    let info = addr.into_connection_info()?.set_redis_settings(settings);
    let Some(tls) = &access.tls else { return redis::Client::open(info) };
    let client_tls = tls
        .client
        .as_ref()
        .map(|(cert, key)| ClientTlsConfig { client_cert: cert.to_vec(), client_key: key.to_vec() });
    let root_cert = tls.ca.as_ref().map(|ca| ca.to_vec());
    redis::Client::build_with_tls(info, TlsCertificates { client_tls, root_cert })
}

impl Client for Redis {
    fn send(&mut self, messages: &[Message]) -> Sent {
        let mut commands = redis::pipe();
        commands.ignore_errors();
        for message in messages {
            let command = commands.cmd("XADD").arg(self.access.topic(message));
            if let Some(most) = self.access.destination.maxlen {
                command.arg("MAXLEN").arg("~").arg(most);
            }
            command.arg("*").arg("id").arg(&message.id).arg("record").arg(&message.payload);
        }
        let answers = match commands.query::<Vec<RedisResult<String>>>(&mut self.connection) {
            Ok(answers) => answers,
            Err(e) => return Sent::up_to(0, failure(&e)),
        };
        let acknowledged = answers.iter().take_while(|answer| answer.is_ok()).count();
        match answers.into_iter().find_map(Result::err) {
            Some(e) => Sent::up_to(acknowledged, failure(&e)),
            None if acknowledged == messages.len() => Sent::all(messages),
            None => Sent::up_to(acknowledged, Failure::Lost("it did not answer each command".to_owned())),
        }
    }
}

fn failure(error: &RedisError) -> Failure {
    let code = error.code().unwrap_or_default();
    match error.kind() {
        ErrorKind::AuthenticationFailed => Failure::Denied("it refuses the login".to_owned()),
        ErrorKind::Server(ServerErrorKind::NoPerm) => Failure::Denied(error.to_string()),
        _ if ["NOAUTH", "WRONGPASS", "WRONGTYPE", "NOPERM"].contains(&code) => {
            Failure::Denied(error.to_string())
        }
        _ => explain(error),
    }
}
