package strategies

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// switchable has a parameter of every kind that can be switched, and two that
// cannot.
type switchable struct {
	Switch   `yaml:",inline"`
	Auto     bool     `yaml:"auto" doc:"acts by itself"`
	Analysis analysis `yaml:"analysis" doc:"a boolean with names"`
	Breaker  int      `yaml:"breaker" doc:"failures; 0 for none" off:"0"`
	Retries  int      `yaml:"retries" doc:"off already" off:"0"`
	Call     []Way    `yaml:"call" doc:"ways" off:"[streaming]"`
	Size     int      `yaml:"size" doc:"no switch"`
	Inner    struct {
		Manual bool `yaml:"manual" doc:"below another"`
	} `yaml:"inner" doc:"a group"`
}

func TestMechanisms(t *testing.T) {
	p := switchable{Switch: on, Analysis: analysisKeep, Breaker: 3, Call: []Way{wayFork, wayStreaming}, Size: 7}
	var got []string
	for _, m := range Switches(&p) {
		state := "off"
		if m.On {
			state = "on"
		}
		got = append(got, strings.Join([]string{m.Path, m.Now, m.Then, state}, " "))
	}
	want := []string{
		"enabled true false on", "auto false true off", "analysis keep strip on", "breaker 3 0 on",
		"call [fork, streaming] [streaming] on", "inner.manual false true off",
	}
	if !slices.Equal(got, want) {
		t.Errorf("mechanisms\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A layer that is off is one mechanism: what it would do is out of reach.
func TestMechanismsOfALayerThatIsOff(t *testing.T) {
	r, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddPreset([]byte("name: x\nlayers:\n  - full-compact: {enabled: false, trigger: {fixed: 1000}}\n"), "x.yaml"); err != nil {
		t.Fatal(err)
	}
	s, err := r.Strategy("x")
	if err != nil {
		t.Fatal(err)
	}
	list := s.Mechanisms()
	if len(list) != 1 || list[0].Path != "full-compact.enabled" || list[0].Then != "true" || list[0].On {
		t.Errorf("mechanisms %+v", list)
	}
}

// readOver reads a value over parameters, whatever further rules there are.
func readOver(text string, params any) error {
	tree, err := spec.Parse([]byte(text), "off.yaml")
	if err != nil {
		return err
	}
	c := spec.Checker{Tree: tree}
	c.Check(tree.Root, reflect.ValueOf(params).Elem().Interface(), "")
	return errors.Join(c.Errs...)
}

// What a tag says means off is a value of its parameter, in every layer.
func TestOffValuesAreValues(t *testing.T) {
	r, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.Layers() {
		def, _ := r.Definition(name)
		for _, m := range Switches(def.Params()) {
			keys := strings.Split(m.Path, ".")
			text := ""
			for i, key := range keys {
				text += strings.Repeat("  ", i) + key + ":"
				if i < len(keys)-1 {
					text += "\n"
				}
			}
			if err := readOver(text+" "+m.Then, def.Params()); err != nil {
				t.Errorf("%s.%s: %q does not decode: %v", name, m.Path, m.Then, err)
			}
		}
	}
}
