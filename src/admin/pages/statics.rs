//! The style sheet, the script and the icon: part of the binary, under addresses that change with their content, so that a
//! browser may keep them for ever and still never shows a new page with an old style.

use std::{collections::BTreeMap, sync::LazyLock};

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "src/admin/static/"]
struct Static;

/// Digits of the hash in an address: enough to tell the versions of one file apart.
const VERSION_DIGITS: usize = 12;

struct File {
    link: String,
    etag: String,
    kind: &'static str,
    bytes: web::Bytes,
}

static FILES: LazyLock<BTreeMap<String, File>> = LazyLock::new(|| {
    let known = |name: std::borrow::Cow<'static, str>| {
        let bytes = web::Bytes::from(Static::get(&name)?.data.into_owned());
        let version = crate::domain::Digest::of(&bytes).to_string()[..VERSION_DIGITS].to_owned();
        let link = format!("/static/{version}/{name}");
        Some((name.to_string(), File { link, etag: format!("\"{version}\""), kind: kind_of(&name), bytes }))
    };
    Static::iter().filter_map(known).collect()
});

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// The address of a file.
pub(super) fn link(name: &str) -> &'static str {
    FILES.get(name).map_or("", |file| file.link.as_str())
}

/// A file. A version that is not today's gets today's file, which it must not keep.
pub(super) async fn serve(request: HttpRequest, path: web::Path<(String, String)>) -> HttpResponse {
    let (version, name) = path.into_inner();
    let Some(file) = FILES.get(&name) else { return HttpResponse::NotFound().finish() };
    let is_current = file.etag.trim_matches('"') == version;
    let keep = if is_current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let held = request.headers().get(header::IF_NONE_MATCH).and_then(|held| held.to_str().ok());
    let mut response = if held.is_some_and(|held| held.contains(&file.etag)) {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header((header::ETAG, file.etag.clone()))
        .insert_header((header::CACHE_CONTROL, keep))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    if held.is_some_and(|held| held.contains(&file.etag)) {
        return response.finish();
    }
    response.content_type(file.kind).body(file.bytes.clone())
}
