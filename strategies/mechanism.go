package strategies

import "reflect"

// Mechanism is a parameter of a layer that can be switched: a boolean, or one
// with a value that takes it out of action, which its tag off names.
type Mechanism struct {
	Path string // "full-compact.manual"
	Doc  string
	Now  string // its value, as YAML on one line
	Then string // the value that switches it
	On   bool   // it is in force: switching takes it away
}

// Mechanisms returns what can be switched in a strategy, in order of the layers
// and their parameters. Of a layer that is off it is the layer alone.
func (s *Strategy) Mechanisms() []Mechanism {
	var list []Mechanism
	for i := range s.layers {
		c := &s.layers[i]
		if c.params == nil {
			continue
		}
		for _, m := range mechanisms(c.params) {
			m.Path = c.def.Name + "." + m.Path
			list = append(list, m)
			if !c.on() {
				break // a switch stands first among the parameters
			}
		}
	}
	return list
}

// mechanisms returns what can be switched among the parameters of a layer.
func mechanisms(params any) []Mechanism {
	var list []Mechanism
	walk(reflect.Indirect(reflect.ValueOf(params)), func(name string, tag reflect.StructTag, v reflect.Value, into any) any {
		path := into.(string) + name
		m := Mechanism{Path: path, Doc: tag.Get("doc"), On: true}
		off, given := tag.Lookup("off")
		switch {
		case v.Kind() == reflect.Struct:
			return path + "."
		case given:
			m.Now, m.Then = oneLine(v.Interface()), off
		case v.Kind() == reflect.Bool:
			other := reflect.New(v.Type()).Elem()
			other.SetBool(!v.Bool())
			m.Now, m.Then, m.On = oneLine(v.Interface()), oneLine(other.Interface()), v.Bool()
		}
		if m.Now != m.Then {
			list = append(list, m)
		}
		return path + "."
	}, "")
	return list
}
