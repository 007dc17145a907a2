package fleet

import (
	"strings"
	"testing"
)

// The name of an organisation may have dots: the longest that there is is meant.
func TestSplitOrg(t *testing.T) {
	for _, tc := range []struct{ path, who, keys string }{
		{"acme.users", "acme", "users"},
		{"acme.com.users", "acme.com", "users"},
		{"acme.com.sessions.per_user_day", "acme.com", "sessions.per_user_day"},
		{"acme.overage.share", "acme", "overage.share"},
		{"*.users", "*", "users"},
		{"beech.users", "beech", "users"},
	} {
		who, keys := splitOrg(strings.Split(tc.path, "."), []string{"acme", "acme.com"})
		if who != tc.who || strings.Join(keys, ".") != tc.keys {
			t.Errorf("%s: %q, %q; want %q, %q", tc.path, who, keys, tc.who, tc.keys)
		}
	}
}
