use proptest::prelude::*;

use super::*;

/// What Chromium offers, shortened: audio, and video with VP8, two kinds of H.264 and a codec that is not encoded here.
pub const CHROMIUM: &str = "v=0\r\no=- 4611731400430051336 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=extmap-allow-mixed\r\n\
    m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:AAAA\r\na=ice-pwd:asd88fgpdd777uzjYhagZg22\r\na=mid:0\r\na=recvonly\r\n\
    a=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n\
    m=video 51000 UDP/TLS/RTP/SAVPF 96 97 102 103 45\r\nc=IN IP4 0.0.0.0\r\n\
    a=candidate:1467250027 1 udp 2122260223 192.168.0.196 46243 typ host generation 0 network-id 1\r\n\
    a=candidate:2 1 udp 2122260223 4e1c5b2a-6d1f-4c2b-9a3b-1f3a4c5d6e7f.local 46244 typ host\r\n\
    a=candidate:3 1 tcp 1518280447 192.168.0.196 9 typ host tcptype active\r\n\
    a=ice-ufrag:8hhY\r\na=ice-pwd:asd88fgpdd777uzjYhagZg\r\na=ice-options:trickle\r\n\
    a=fingerprint:sha-256 19:E2:1C:3B:4B:9F:81:E6:B8:5C:F4:A5:A8:D8:73:04:BB:05:2F:70:9F:04:A9:0E:05:E9:26:33:E8:70:88:A2\r\n\
    a=setup:actpass\r\na=mid:1\r\na=extmap:1 urn:ietf:params:rtp-hdrext:toffset\r\na=recvonly\r\na=rtcp-mux\r\na=rtcp-rsize\r\n\
    a=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\na=rtcp-fb:96 ccm fir\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n\
    a=rtpmap:102 H264/90000\r\na=rtcp-fb:102 nack pli\r\na=fmtp:102 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f\r\n\
    a=rtpmap:103 H264/90000\r\na=rtcp-fb:103 nack pli\r\na=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n\
    a=rtpmap:45 AV1/90000\r\n";

#[test]
fn of_a_browsers_offer_the_video_its_codecs_and_its_reachable_address_are_taken() {
    let offer = Offer::read(CHROMIUM).unwrap();
    let found: Vec<_> = offer.formats.iter().map(|format| (format.codec, format.payload)).collect();
    assert_eq!(found, [(Codec::Vp8, 96), (Codec::H264, 103)]);
    assert_eq!(offer.format([Codec::H264, Codec::Vp8]).unwrap().payload, 103, "the service prefers");
    let reduced = offer.reduced(offer.format([Codec::Vp8]).unwrap());
    for line in [
        "a=group:BUNDLE 1",
        "m=video 9 UDP/TLS/RTP/SAVPF 96",
        "a=ice-ufrag:8hhY",
        "a=setup:actpass",
        "a=rtpmap:96 VP8/90000",
        "a=rtcp-fb:96 nack pli",
        "a=rtcp-fb:96 ccm fir",
        "a=candidate:1467250027 1 UDP 2122260223 192.168.0.196 46243 typ host",
    ] {
        assert!(reduced.contains(&format!("{line}\r\n")), "{line} is not in {reduced}");
    }
    assert_eq!(reduced.matches("a=candidate").count(), 1, "no name and no TCP: {reduced}");
    assert!(
        !reduced.contains("audio") && !reduced.contains("extmap") && !reduced.contains("H264"),
        "{reduced}"
    );
    let h264 = offer.reduced(offer.format([Codec::H264]).unwrap());
    assert!(h264.contains("packetization-mode=1;profile-level-id=42e01f\r\n"), "{h264}");
}

#[test]
fn the_answer_has_the_sections_of_the_offer_in_its_order_and_rejects_what_is_not_sent() {
    let offer = Offer::read(CHROMIUM).unwrap();
    let answer = offer.answer("v=0\r\na=group:BUNDLE 1\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\n");
    assert_eq!(
        answer,
        "v=0\r\na=group:BUNDLE 1\r\nm=audio 0 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\na=mid:0\r\n\
         m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\n"
    );
}

#[test]
fn what_cannot_be_answered_is_refused_with_what_was_expected() {
    let refused = |text: &str| match Offer::read(text) {
        Err(OfferError::Malformed(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    for (text, part) in [
        ("", "no SDP"),
        ("{}", "no SDP"),
        ("v=0\r\n", "no video"),
        ("v=0\r\nm=\r\n", "a section that cannot be read"),
        ("v=0\r\nm=video x\r\n", "a section that cannot be read"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
    for (line, instead, part) in [
        ("m=video 51000", "m=video 0", "no video"),
        ("m=video", "m=text", "no video"),
        ("a=mid:1\r\n", "a=mid:1\r\na=sendonly\r\n", "no video"),
        ("a=ice-pwd:asd88fgpdd777uzjYhagZg\r\n", "a=ice-pwd:short\r\n", "a=ice-pwd"),
        ("a=fingerprint:sha-256 ", "a=fingerprint:sha-256 ü", "a=fingerprint"),
        ("a=setup:actpass", "a=setup:holdconn", "a=setup"),
    ] {
        let text = CHROMIUM.replace(line, instead);
        assert!(text != CHROMIUM && refused(&text).contains(part), "{instead}: {}", refused(&text));
    }
    let many = format!("v=0\r\n{}", "m=audio 9 RTP/AVP 0\r\n".repeat(17));
    assert!(refused(&many).contains("17 sections"));
    let av1 = Offer::read(&CHROMIUM.replace(" 96 97 102 103 45", " 45")).unwrap();
    let OfferError::NoCodec(sentence) = av1.format(Codec::ALL).unwrap_err() else { panic!("it has none") };
    assert!(sentence.contains("expected H264 or VP8"), "{sentence}");
}

proptest! {
    /// Whatever stands in a line of an offer: it is refused, or the offer for webrtcbin has only lines that are written here.
    #[test]
    fn no_text_of_a_client_reaches_webrtcbin_unchecked(line in 0_usize..60, text in "\\PC{0,60}", at in 0_usize..40) {
        let mut lines: Vec<String> = CHROMIUM.lines().map(str::to_owned).collect();
        let line = line % lines.len();
        let cut = lines[line].char_indices().nth(at).map_or(lines[line].len(), |(at, _)| at);
        lines[line] = format!("{}{text}", &lines[line][..cut]);
        if let Ok(offer) = Offer::read(&lines.join("\r\n")) && let Ok(format) = offer.format(Codec::ALL) {
            let reduced = offer.reduced(format);
            prop_assert!(reduced.is_ascii() && reduced.lines().count() < 40, "{reduced}");
            gst::init().unwrap();
            prop_assert!(gst_sdp::SDPMessage::parse_buffer(reduced.as_bytes()).is_ok());
        }
    }
}

#[test]
fn fuzz_offer() {
    cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "offer").run_text(|text| {
        let Ok(offer) = Offer::read(text) else { return };
        for format in &offer.formats {
            let reduced = offer.reduced(format);
            assert_eq!(reduced.matches("m=").count(), 1, "{reduced}");
            assert!(reduced.lines().all(|line| line.as_bytes().get(1) == Some(&b'=')), "{reduced}");
            offer.answer(&reduced);
        }
    });
}
