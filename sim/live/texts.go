package live

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// Texts in a request for what is not sent in full. The texts are this package's own;
// their sizes are near the sizes of the simulated clients' texts.
const (
	clearedText   = "[Old tool result content cleared]"
	emptyResult   = "(no output)"
	unseenText    = "[Something stood here that the recording does not show.]"
	truncatedText = "[earlier conversation truncated for compaction retry]"
	leadingText   = "[The conversation begins with a response.]"
	summaryHeader = "The conversation before this point has been summarised, as it did not fit any more. What follows is the summary.\n\n"
	storedOpening = "<persisted-output>\nThe output was large and is stored in a file. It begins like this:\n"
	storedClosing = "\n</persisted-output>"
	storedPointer = "<persisted-output>\nThe output is stored in a file and can be read again there.\n</persisted-output>"
)

// stored returns what remains of a result stored on disk, within so many bytes: its beginning, or only a notice.
func stored(text string, size int) string {
	room := size - len(storedOpening) - len(storedClosing)
	if room <= 0 || text == "" {
		return storedPointer
	}
	return storedOpening + cut(text, room) + storedClosing
}

// withMedia returns a text with the placeholder of its image or document.
func withMedia(text, media string) string {
	if media == "" {
		return text
	}
	if text == "" {
		return "[" + media + "]"
	}
	return text + "\n[" + media + "]"
}

// clean returns a text that any server accepts: valid UTF-8.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// cut returns the first n bytes of a text, or fewer so as not to divide a rune.
func cut(text string, n int) string {
	if n >= len(text) {
		return text
	}
	n = max(n, 0)
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// injected adds an entry whose block is not in the recording: a summary, what
// returned after it, or the client's own words.
func (p *composer) injected(i int, e prompt.Entry, b *prompt.Block) (err error) {
	var text string
	switch {
	case e.Kind == prompt.KindSummary:
		if w, ok := p.memory.find(b.Digest); ok {
			text = summaryHeader + w.message(e.Tokens)
		} else {
			p.count.Lost++
		}
	case e.Kind == prompt.KindAttachment:
		if text, err = p.restored(e, b); err != nil {
			return err
		}
	case e.Kind == prompt.KindPrompt && p.call.Intent.Lead > 0 && e.Tokens == p.call.Intent.Lead && i == p.firstInjected():
		text = truncatedText
	}
	if text == "" {
		text = p.unseen(int64(e.Tokens) * bytesPerToken)
	}
	p.cover(i, text)
	p.add(i, roleOf(e), text)
	return nil
}

// unseen returns what is sent in place of so many bytes that no recording shows: filler of their size would cost money
// and tell nothing.
func (p *composer) unseen(bytes int64) string {
	p.count.Unseen += bytes
	return unseenText
}

// firstInjected returns the position of the client's first own prompt, which replaces messages that were cut off.
func (p *composer) firstInjected() int {
	c := p.call.Context
	for i := c.Messages(); i < c.Len(); i++ {
		if e := c.At(i); e.Block < 0 && e.Kind == prompt.KindPrompt {
			return i
		}
	}
	return -1
}

// restored returns what a client puts back after a summary: a file as last read, a plan,
// todos, a skill; "" if unknown. Later writes to a file are not included.
func (p *composer) restored(e prompt.Entry, b *prompt.Block) (string, error) {
	s := p.call.Session
	at := p.origin(b)
	if at < 0 {
		return "", nil
	}
	content, err := p.texts.Block(int32(at))
	if err != nil || content.Filler {
		return "", err
	}
	text := clean(content.Text)
	if text == "" {
		text = clean(string(content.Input))
	}
	text = share(text, e, &s.Blocks[at])
	if text == "" {
		return "", nil
	}
	if b.Object >= 0 && int(b.Object) < len(s.Objects) {
		text = "The file " + clean(s.Objects[b.Object]) + " as it was read:\n" + text
	}
	return "<system-reminder>\n" + text + "\n</system-reminder>", nil
}

// origin returns the block that a client's block was made from, by digest; else the largest read of its file so
// far; -1 for none.
func (p *composer) origin(b *prompt.Block) int {
	at, size := -1, int32(0)
	blocks := p.call.Session.Blocks[:p.past()]
	for i := range blocks {
		o := &blocks[i]
		if o.Tokens >= b.Tokens && madeFrom(b.Digest, o.Digest, b.Tokens) {
			return i
		}
		if b.Object >= 0 && o.Object == b.Object && o.Kind == prompt.KindToolResult && o.Op == op.Read && o.Tokens > size {
			at, size = i, o.Tokens
		}
	}
	return at
}

// past returns the number of blocks of the session that exist at the time of the call.
func (p *composer) past() int {
	s := p.call.Session
	if t := int(p.call.Thread); t < len(s.Threads) {
		if r := int(p.call.Round); r < len(s.Threads[t].Rounds) {
			return int(s.Threads[t].Rounds[r].Input.To)
		}
	}
	return len(s.Blocks)
}

// madeFrom reports whether a client's block of so many tokens was made from the
// block with a digest: an unchanged file, or a text.
func madeFrom(made, from prompt.Digest, tokens int32) bool {
	of := from.ExtendInt(uint64(tokens))
	return made == of || made == of.Extend(prompt.Digest{}) || made == (prompt.Digest{}).Extend(from).ExtendInt(uint64(tokens))
}

// Secret is a key that identifies the caller to a server. It prints as "[key]",
// also inside other values: because fmt prints unexported fields directly, the
// secret is kept in a function.
type Secret struct{ reveal func() string }

// NewSecret returns a key, without white space around it; "" is none.
func NewSecret(secret string) Secret {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return secret }}
}

// check returns an error for a key that no header can hold, for instance one
// pasted with a line break.
func (k Secret) check() error {
	if strings.ContainsFunc(k.secret(), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("it holds a blank, a line break or a letter that no key has: copy it anew, in one line")
	}
	return nil
}

const shownKey = "[key]"

// IsZero reports whether k is no key.
func (k Secret) IsZero() bool { return k.reveal == nil }

// Format writes "[key]" for every verb.
func (k Secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, shownKey) }

// MarshalText returns "[key]".
func (k Secret) MarshalText() ([]byte, error) { return []byte(shownKey), nil }

// secret returns the key itself.
func (k Secret) secret() string {
	if k.reveal == nil {
		return ""
	}
	return k.reveal()
}

// shortest is the length in bytes of the shortest part of a key, plain or in base64, that
// redact looks for: servers quote keys with their middle left out.
const shortest = 8

// redact returns s without the key and without parts of the key, plain or in base64.
func (k Secret) redact(s string) string {
	forms := k.forms()
	if len(forms) == 0 || len(s) < shortest {
		return s
	}
	var b strings.Builder
	from := 0
	for i := 0; i+shortest <= len(s); {
		if !forms[s[i:i+shortest]] {
			i++
			continue
		}
		end := i + shortest
		for end < len(s) && forms[s[end+1-shortest:end+1]] {
			end++
		}
		b.WriteString(s[from:i] + shownKey)
		from, i = end, end
	}
	b.WriteString(s[from:])
	return b.String()
}

// forms returns every part of the shortest length of the key, plain and in base64 of
// either alphabet for any position of the key in a text; the whole key if it is shorter.
func (k Secret) forms() map[string]bool {
	secret := k.secret()
	if secret == "" {
		return nil
	}
	forms := map[string]bool{}
	add := func(s string) {
		for i := 0; i+shortest <= len(s); i++ {
			forms[s[i:i+shortest]] = true
		}
	}
	add(secret)
	for at := range 3 { // bytes of a text before the key, modulo three
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := alphabet.EncodeToString([]byte("\x00\x00"[:at] + secret))
			add(text[min(len(text), (8*at+5)/6):max(0, len(text)-1)]) // without characters that also encode other bits
		}
	}
	return forms
}

// redactReply removes the key from everything a server says in an answer.
func (k Secret) redactReply(r *Reply) {
	for _, s := range []*string{&r.ID, &r.Model, &r.StopReason, (*string)(&r.Text)} {
		*s = k.redact(*s)
	}
}

// Insecure reports whether requests to a base URL can be read in transit:
// without encryption to another machine.
func Insecure(base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// parseBase parses a base URL. Errors show only scheme and host, because the
// rest may hold a secret.
func parseBase(s string) (*url.URL, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errors.New("it holds a blank or a line break")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("it cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("want http(s)://host…, not %q", u.Scheme+"://"+u.Host)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("the URL must not have a ? or a #, because the path of the API is appended to it")
	}
	return u, nil
}

// versioned is a path that names a version: /v1, /v1beta/openai, /api/paas/v4.
var versioned = regexp.MustCompile(`/v[0-9][a-z0-9]*(/|$)`)

// endpointOf returns the URL and the host of an API, given a base URL without version, with version or with the whole
// path. Chat completions have versions other than 1, and their whole path may have none.
func endpointOf(provider, base string) (at, host string, err error) {
	u, err := parseBase(base)
	if err != nil {
		return "", "", err
	}
	const completions = "/chat/completions"
	root := strings.TrimRight(base, "/")
	switch {
	case provider != OpenAI:
		root = strings.TrimSuffix(strings.TrimSuffix(root, "/messages"), "/v1")
		return root + "/v1/messages", u.Hostname(), nil
	case strings.HasSuffix(root, completions):
		return root, u.Hostname(), nil
	case !versioned.MatchString(u.Path):
		root += "/v1"
	}
	return root + completions, u.Hostname(), nil
}
