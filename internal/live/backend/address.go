package backend

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// chatPath is what is put behind a base URL of chat completions.
const chatPath = "/chat/completions"

// parseBase parses a base URL. Errors show no more of it than scheme, host and
// what is wrong: it may hold a secret.
func parseBase(s string) (*url.URL, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errors.New("it has a blank or a line break in it: write it anew without")
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
	return u, nil
}

// twice is a version that is in a path two times.
var twice = regexp.MustCompile(`/(v[0-9][a-z0-9]*)/+(v[0-9][a-z0-9]*)(/|$)`)

// versioned is a path that names a version, as the API's own and those of most
// servers that speak like it: /v1, /v1beta/openai, /api/paas/v4.
var versioned = regexp.MustCompile(`/v[0-9][a-z0-9]*(/|$)`)

// repeated returns an error for a path that names the same version twice in a
// row.
func repeated(u *url.URL) error {
	if m := twice.FindStringSubmatch(u.Path); m != nil && m[1] == m[2] {
		return fmt.Errorf("it has /%s twice: write it once", m[1])
	}
	return nil
}

// checkMessagesURL reports what is wrong with the base URL of a Messages API: the
// version is put behind it.
func checkMessagesURL(s string) error {
	u, err := parseBase(s)
	if err != nil {
		return err
	}
	if err := repeated(u); err != nil {
		return err
	}
	path := strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/v1/messages", "/messages", "/v1"} {
		if rest, ok := strings.CutSuffix(path, end); ok {
			return fmt.Errorf("it ends with %s, and /v1/messages is put behind it: leave that out, as %s", end, u.Scheme+"://"+u.Host+shown(rest))
		}
	}
	return nil
}

// plainPath is a path of words, which no secret is.
var plainPath = regexp.MustCompile(`^(/[a-z]{1,16}|/v[0-9]{1,2})*$`)

// shown returns a path for an error to show: gateways have tokens in theirs.
func shown(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "/…"
}

// chatURL returns where completions are asked for, of a base URL with the version.
// One that ends with the path of the completions is taken as it stands: for
// servers that have them under no version.
func chatURL(s string) (string, error) {
	u, err := parseBase(s)
	if err != nil {
		return "", err
	}
	if err := repeated(u); err != nil {
		return "", err
	}
	base := strings.TrimRight(s, "/")
	if strings.HasSuffix(base, chatPath) {
		return base, nil
	}
	if !versioned.MatchString(u.Path) {
		root := u.Scheme + "://" + u.Host + shown(strings.TrimRight(u.Path, "/"))
		return "", fmt.Errorf("it names no version: most servers want %s/v1; one that has none, %s%s", root, root, chatPath)
	}
	return base + chatPath, nil
}
