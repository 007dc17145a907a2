package sqlite

import "testing"

// The letter of a drive is no machine: sqlite.org/uri.html §3.1.
func TestLocation(t *testing.T) {
	for path, want := range map[string]string{
		"/home/u/opencode.db":      "file:///home/u/opencode.db?_pragma=busy_timeout(2000)&mode=ro",
		"C:/Users/u/opencode.db":   "file:///C:/Users/u/opencode.db?_pragma=busy_timeout(2000)&mode=ro",
		"//machine/share/kilo.db":  "file:////machine/share/kilo.db?_pragma=busy_timeout(2000)&mode=ro",
		"/home/u/50 % or what?.db": "file:///home/u/50%20%25%20or%20what%3F.db?_pragma=busy_timeout(2000)&mode=ro",
	} {
		if got := location(path, "mode=ro"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
