package client

import (
	"reflect"
	"strings"
	"testing"
)

// A version is one to three numbers; a future one is fine.
func TestCheckVersion(t *testing.T) {
	for _, good := range []string{"", "2", "2.1", "1.0.62", "2.1.17", "2.9.400", "9.0.0"} {
		if err := CheckVersion(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, hint := range map[string]string{
		"banana": "", "v2.1.17": `did you mean "2.1.17"?`, "2.1.x": `did you mean "2.1.1"?`, "2.1.17.3": `did you mean "2.1.17"?`,
		"2.1.": `did you mean "2.1.1"?`, " 2.1.17": `did you mean "2.1.17"?`, "-1": "", "2,1,17": `did you mean "2.1.17"?`,
	} {
		err := CheckVersion(bad)
		if err == nil || !strings.Contains(err.Error(), hint) || hint == "" && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: %v, want the hint %q", bad, err, hint)
		}
	}
}

// What a recording gives for its version and is none counts as newest, and of one
// with a suffix the numbers count.
func TestForVersionOfOddNames(t *testing.T) {
	for odd, same := range map[string]string{"dev": "", "banana": "99", "1.0.62-beta.3": "1.0.62", "2.1.17 (Claude Code)": "2.1.17"} {
		if !reflect.DeepEqual(ForVersion(odd), ForVersion(same)) {
			t.Errorf("%q is not as %q", odd, same)
		}
	}
}
