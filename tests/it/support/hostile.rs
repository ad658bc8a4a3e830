//! What senders and destinations may write to make a browser run it (pitfall B141).

/// Each must appear on pages as the text that it is.
pub const MARKUP: &[&str] = &[
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "</script><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "javascript:alert(1)",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<iframe srcdoc=\"<script>alert(1)</script>\">",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "<!--<script>",
    "]]><x>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example>",
    "<form action=//evil.example><input name=csrf>",
    "\u{202e}<script>alert(1)</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
];

/// The same, as far as it can stand in a header or an id: visible ASCII without spaces.
pub fn as_id(text: &str) -> String {
    text.chars().filter(char::is_ascii_graphic).collect()
}
