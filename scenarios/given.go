package scenarios

import "strconv"

// WithGiven prepends the settings that a scenario was run with to its text, PATH=VALUE each: rows name them, the
// scenario has only their values.
func WithGiven(scenario []byte, set []string) []byte {
	var b []byte
	for _, s := range set {
		b = append(strconv.AppendQuote(append(b, "# --set "...), s), '\n')
	}
	return append(b, scenario...)
}
