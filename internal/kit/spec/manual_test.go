package spec

import "testing"

// A manual has a chapter in front, one in the place of a doc where there is one, long
// docs on several lines, lists of structs with docs, and the top-level keys apart.
func TestManual(t *testing.T) {
	type item struct {
		Size int `yaml:"size" doc:"how large" unit:"tokens"`
	}
	got, err := Manual(struct {
		Name  string `yaml:"name"`
		Group struct {
			On bool `yaml:"on" doc:"A text of more than eighty characters, which does not fit the line it begins in, ends in the next."`
		} `yaml:"group" doc:"not this"`
		Items []item `yaml:"items"`
		Left  []item `yaml:"left"`
	}{Items: []item{{3}}, Left: []item{}}, Chapters("The head.\n\nMore.\n\n== group\nThis:\n\n  as it is\n"))
	want := `# The head.
#
# More.

name: ""

# This:
#
#   as it is
group:
  # A text of more than eighty characters, which does not fit the line it begins in,
  # ends in the next.
  on: false

items:
  - # how large, tokens
    size: 3

left: []
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
