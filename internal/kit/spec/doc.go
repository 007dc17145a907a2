// Package spec declares parameters: the tags of a struct say what its fields are, and
// reading, checking, sweeping, printing and comparing follow from them.
//
//	type Params struct {
//		Keep  int           `yaml:"keep" doc:"newest results that stay" min:"0"`
//		Share float64       `yaml:"share" doc:"share of calls that fail, 0…1" min:"0" max:"1" off:"0"`
//		Every time.Duration `yaml:"every" doc:"time between two requests" above:"0s" max:"1h"`
//		Way   Way           `yaml:"way" doc:"fork or streaming"`
//		Fill  string        `yaml:"fill" doc:"none or last" enum:"none,last" needs:"keep"`
//	}
//
// The tags are no language; a rule that spans fields is a Go method.
//
//	yaml   the key; omitempty, flow and inline mean what they mean to yaml.v3
//	doc    what the parameter is, for the manual, which breaks lines
//	unit   its unit, for the axes of charts, and for the manual where doc lacks it
//	min    the smallest value, max the largest; above and below leave the bound
//	       itself out. A duration has a bound such as 90s. On a list or a map they
//	       hold for the elements, on a struct for what Within (Bounded) looks at.
//	       A bounded number is finite.
//	enum   the texts a string can be, joined by commas
//	off    the value, as YAML, that switches the parameter off
//	needs  the parameter that must be on for this one to have an effect: its path,
//	       in the same struct or from the top; also path=value, and several of
//	       these joined by |
//	whole  "true" on a map: a file replaces it and does not add to it
//	sweep  "true": a list or a range that replaces a value below is an axis
//
// A small integer or boolean type with the method Names (Enum) is written by
// name and needs no codec. A time.Duration is written 90s or 1h30m. A type with
// UnmarshalYAML, and MarshalYAML for writing, handles itself.
//
// A struct with the method Rules (Ruled) says what its tags cannot: which
// values contradict each other. Wrong makes an error that is reported at one
// parameter, a Problem one that names several. An inlined struct keeps its
// rules if the outer one has none of its own. The elements of a list or a map
// begin with what their method SetDefaults sets (Defaulter).
//
// Decode, or Tree.Decode for a node of a parsed file, reads into existing
// values, the defaults, and reports all problems at once with file and line:
// unknown and repeated keys with the nearest name, values of the wrong kind or
// out of bounds, and violated rules among values that could be read. Checker
// reads without rules and finds axes; Axis.Choose replaces a list by one of its
// values, and Tree.Decode then reads the cell. Validate checks a Go value, and
// Tree.Place finds the line of a Problem.
//
// Encode, Marshal and Line write values; Describe and Manual add docs as
// comments. Fields lists the parameters by path, Diff compares two structs. A
// struct with Enums must be written by these, not by package yaml.
package spec
