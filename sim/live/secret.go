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
)

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
