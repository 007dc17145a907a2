package backend

import (
	"errors"
	"fmt"
	"strings"
)

// Key is a secret that identifies the caller to a server. It shows as "[key]"
// however it is printed, also inside of other values: it is kept in a function,
// for what fmt finds in an unexported field it prints without asking.
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
		return errors.New("it has a blank, a line break or a letter in it that no key has: copy it anew, in one line")
	}
	return nil
}

const shownKey = "[key]"

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.reveal == nil }

// String returns "[key]".
func (k Key) String() string { return shownKey }

// GoString returns "[key]".
func (k Key) GoString() string { return shownKey }

// Format writes "[key]" for every verb.
func (k Key) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "%s", shownKey) }

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
