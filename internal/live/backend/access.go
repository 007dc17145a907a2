package backend

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Key is a secret that identifies the caller to a server. It shows as "[key]"
// however it is printed, also inside of other values: it is kept in a function,
// for fmt prints what it finds in unexported fields without asking.
type Key struct{ reveal func() string }

// NewKey returns a key, without white space around it; "" is none.
func NewKey(secret string) Key {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return Key{}
	}
	return Key{reveal: func() string { return secret }}
}

// check reports a key that no header can hold, as pasting it with a line break in
// it makes one.
func (k Key) check() error {
	if strings.ContainsFunc(k.secret(), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("it holds a blank, a line break or a letter that no key has: copy it anew, in one line")
	}
	return nil
}

const shownKey = "[key]"

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.reveal == nil }

// Format writes "[key]" for every verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, shownKey) }

// MarshalText returns "[key]".
func (k Key) MarshalText() ([]byte, error) { return []byte(shownKey), nil }

// secret returns what is sent.
func (k Key) secret() string {
	if k.reveal == nil {
		return ""
	}
	return k.reveal()
}

// shortest is the length in bytes of the shortest part of a key that redact
// looks for: servers quote keys with their middle left out.
const shortest = 8

// redact returns s without the key and without its beginning or end, which
// servers quote in what they say about a wrong key.
func (k Key) redact(s string) string {
	secret := k.secret()
	if secret == "" {
		return s
	}
	s = strings.ReplaceAll(s, secret, shownKey)
	for n := len(secret) - 1; n >= shortest; n-- {
		s = strings.ReplaceAll(s, secret[:n], shownKey)
		s = strings.ReplaceAll(s, secret[len(secret)-n:], shownKey)
	}
	return s
}

// parseBase parses a base URL. Errors show no more of it than scheme and host: it
// may hold a secret.
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
		return nil, errors.New("nothing can stand behind a ? or a #: the path of the API is put behind it")
	}
	if m := twice.FindStringSubmatch(u.Path); m != nil && m[1] == m[2] {
		return nil, fmt.Errorf("it has /%s twice: write it once", m[1])
	}
	return u, nil
}

var (
	// twice is a version that is in a path two times.
	twice = regexp.MustCompile(`/(v[0-9][a-z0-9]*)/+(v[0-9][a-z0-9]*)(/|$)`)
	// versioned is a path that names a version, as most servers' do: /v1,
	// /v1beta/openai, /api/paas/v4.
	versioned = regexp.MustCompile(`/v[0-9][a-z0-9]*(/|$)`)
	// plainPath is a path of words, which no secret is.
	plainPath = regexp.MustCompile(`^(/[a-z]{1,16}|/v[0-9]{1,2})*$`)
)

// shown returns a base URL with another path, for an error to show: gateways have
// tokens in theirs.
func shown(u *url.URL, path string) string {
	if !plainPath.MatchString(path) {
		path = "/…"
	}
	return u.Scheme + "://" + u.Host + path
}

// checkMessagesURL reports what is wrong with the base URL of a Messages API: the
// version is put behind it.
func checkMessagesURL(s string) error {
	u, err := parseBase(s)
	if err != nil {
		return err
	}
	path := strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/v1/messages", "/messages", "/v1"} {
		if rest, ok := strings.CutSuffix(path, end); ok {
			return fmt.Errorf("it ends with %s, and /v1/messages is put behind it: leave that out, as %s", end, shown(u, rest))
		}
	}
	return nil
}

// chatURL returns where completions are asked for, of a base URL with the version.
// One that ends with the path of the completions is taken as it is: for servers
// that have them under no version.
func chatURL(s string) (string, error) {
	const completions = "/chat/completions"
	u, err := parseBase(s)
	if err != nil {
		return "", err
	}
	base := strings.TrimRight(s, "/")
	if strings.HasSuffix(base, completions) {
		return base, nil
	}
	if !versioned.MatchString(u.Path) {
		root := shown(u, strings.TrimRight(u.Path, "/"))
		return "", fmt.Errorf("it names no version: most servers want %s/v1; one that has none, %s%s", root, root,
			completions)
	}
	return base + completions, nil
}
