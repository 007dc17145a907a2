// Package spec declares parameters: a struct says with tags what its fields are,
// and reading, checking, sweeping, printing and comparing follow from it.
//
//	type Params struct {
//		Keep  int           `yaml:"keep" doc:"newest results that stay" min:"0"`
//		Share float64       `yaml:"share" doc:"share of calls that fail, 0…1" min:"0" max:"1" off:"0"`
//		Every time.Duration `yaml:"every" doc:"time between two requests" above:"0s" max:"1h"`
//		Way   Way           `yaml:"way" doc:"fork or streaming"`
//		Fill  string        `yaml:"fill" doc:"none or last" enum:"none,last" needs:"keep"`
//	}
//
// The tags are no language; a fact that crosses fields is a Go method.
//
//	yaml   the key; omitempty, flow and inline mean what they mean to yaml.v3
//	doc    what the parameter is, for the manual, which breaks lines
//	unit   its unit, for the axes of charts, and for the manual where doc lacks it
//	min    the smallest value, max the largest; above and below leave the bound
//	       itself out. A duration has a bound such as 90s. On a list or a map they
//	       hold for the elements, on a struct for what Within (Bounded) looks at.
//	       A bounded number is finite.
//	enum   the texts a string can be, joined by commas
//	off    the value, as YAML, that takes the parameter out of action
//	needs  the parameter that must be on for this one to have an effect: its path,
//	       in the same struct or from the top; also path=value, and several of
//	       these joined by |
//	whole  "true" on a map: a file replaces it and does not add to it
//	sweep  "true": a list or a range in the place of a value below is an axis
//
// A small integer or boolean type with the method Names (Enum) is written by name
// and needs no codec. A time.Duration is written 90s or 1h30m. A type that has
// UnmarshalYAML, and MarshalYAML for the way back, is left to itself.
//
// A struct with the method Rules (Ruled) says what its tags cannot: values that
// contradict each other. Wrong makes an error that is reported at a parameter,
// a Problem one that names several. An inlined struct keeps its rules as long as
// the outer one has none of its own. The elements of a list or a map begin with
// what their method SetDefaults gives (Defaulter).
//
// Decode, or Tree.Decode for a node of a parsed file, reads over the values that
// are there, the defaults, and reports all problems at once with file and line:
// unknown and repeated keys with the nearest name, values of another kind or out of
// bounds, and what rules say of values that could be read. Checker reads without
// rules and finds axes; Axis.Choose puts one value in the place of the list, and
// Tree.Decode then reads the cell. Validate checks a Go value, and Tree.Place finds
// the line of a Problem.
//
// Encode, Marshal and Line write values, Describe and Manual with docs as comments;
// Fields lists the parameters by path, Diff compares two structs.
// A struct with Enums has to be written by these, not by package yaml.
package spec
