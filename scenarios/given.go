package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// given begins a line above a scenario that was run with a setting from
// outside. Rows name that setting; the scenario has only its value.
const given = "# --set "

// WithGiven prepends the settings that a scenario was run with to its text, PATH=VALUE each.
func WithGiven(scenario []byte, set []string) []byte {
	var b []byte
	for _, s := range set {
		b = append(strconv.AppendQuote(append(b, given...), s), '\n')
	}
	return append(b, scenario...)
}

// Given returns the settings that WithGiven put before the text of a scenario.
func Given(scenario []byte) (set []string, err error) {
	for line := range strings.Lines(string(scenario)) {
		quoted, ok := strings.CutPrefix(line, given)
		if !ok {
			break
		}
		s, err := strconv.Unquote(strings.TrimSpace(quoted))
		if err != nil {
			return nil, fmt.Errorf("%q is no setting", strings.TrimSpace(quoted))
		}
		set = append(set, s)
	}
	return set, nil
}
