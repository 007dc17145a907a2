package client

import (
	"fmt"
	"time"

	"gopkg.in/yaml.v3"
)

// Span is a time in ns, written with its unit as in 90s, 5m or 1h30m.
type Span int64

// UnmarshalYAML reads a span with its unit.
func (s *Span) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		// An error of this type lets the rest of the file be read.
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("want a time such as 90s, 5m or 1h, not %q", n.Value)}}
	}
	*s = Span(v)
	return nil
}

// MarshalYAML writes a span as Go does.
func (s Span) MarshalYAML() (any, error) { return time.Duration(s).String(), nil }
