// Sixty strings that have broken pages before: markup, addresses that are scripts, templates, ends of quoting, controls of terminals, text
// that runs backwards, invisible and very long text, names of members that every object has.
const BREAK = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(2)>', '"><svg onload=alert(3)>', "'><iframe src=//evil.example></iframe>",
  '</title><script>alert(4)</script>', '</textarea><script>alert(5)</script>', '</style><script>alert(6)</script>', '<!--<script>alert(7)//-->',
  '<a href="javascript:alert(8)">x</a>', '<form action=//evil.example><button>x', '<base href=//evil.example/>', '<link rel=stylesheet href=//evil.example/a.css>',
  '<meta http-equiv=refresh content="0;url=//evil.example">', '<object data=//evil.example></object>', '<embed src=//evil.example>',
  '<style>@import "//evil.example/a.css";</style>', '<math><mtext></mtext><script>alert(9)</script></math>', '<details open ontoggle=alert(10)>',
  '<input autofocus onfocus=alert(11)>', '<body onload=alert(12)>', '<div style="background:url(//evil.example/x)">', '<template><script>alert(13)</script></template>',
];
const ADDRESS = [
  'javascript:alert(14)', 'JaVaScRiPt:alert(15)', 'data:text/html,<script>alert(16)</script>', 'vbscript:msgbox(17)', '//evil.example/', 'https://evil.example/?a=1&b=2',
  '/../../../etc/passwd', '..%2f..%2f', '?peek=x&q=y#in=CODE', '#in=ABCDEF0123456789',
];
const QUOTE = [
  '"', "'", '`', '\\', '\\"', "';alert(18);//", '${alert(19)}', '{{constructor.constructor("alert(20)")()}}', '<%= 7*7 %>', "' OR 1=1 --", '$(touch /tmp/x)', '`touch /tmp/x`',
  '; rm -rf ~', '&amp;&lt;&gt;', '&#60;script&#62;alert(21)&#60;/script&#62;', ']]>', '\\u003cscript\\u003ealert(22)',
];
const CONTROL = [
  '\u001b[31mred\u001b[0m', '\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007', '\u001b]52;c;ZXZpbA==\u0007', '\u202Etxt.exe', '\u2066\u2067\u2069', '\u200b\u200c\u200d\ufeff',
  'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}', 'A'.repeat(4000), '__proto__', 'constructor',
];

export const HOSTILE = [...BREAK, ...ADDRESS, ...QUOTE, ...CONTROL];
