package copilot

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// record is what a line session.usage_record has of a call (1.0.102): it stands ahead of the call's message, and the totals
// of a shutdown have it too.
type record struct {
	totals
	Call  string `json:"apiCallId"`
	Model string `json:"model"`
}

var errNoCounts = errors.New("a record of usage without counts that can be")

// usage returns the counts of the call.
func (r *record) usage() (assembly.Usage, bool) {
	t, err := r.total()
	u := assembly.Counts(
		assembly.Count{N: t.Input - t.Read - t.Write, Logged: true}, assembly.Count{N: t.Read, Logged: true},
		assembly.Count{N: t.Write, Logged: true}, assembly.Count{N: t.Output, Logged: true}, assembly.Count{}, -1)
	return u, err == nil && u.OK
}

// record takes a record of usage.
func (f *file) record(v jsontext.Value) error {
	var r record
	if err := assembly.Decode(v, &r); err != nil {
		return err
	}
	if _, ok := r.usage(); !ok {
		return errNoCounts
	}
	for _, t := range f.threads {
		if i, ok := t.calls[r.Call]; ok && r.Call != "" {
			f.count(t.Calls[i].Call, &r)
			return nil
		}
	}
	if f.records == nil {
		f.records = map[string]record{}
	}
	f.records[r.Call] = r
	return nil
}

// count gives a call its own counts. What the shutdown counts is then for the remaining calls alone.
func (f *file) count(c *assembly.Call, r *record) {
	u, _ := r.usage()
	c.Usage, c.Final = u, true
	if r.Model != "" {
		c.Model = assembly.ModelName(r.Model)
	}
	if f.recorded == nil {
		f.recorded = map[string]assembly.Total{}
	}
	sum, t := f.recorded[r.Model], assembly.Total{Input: u.Input(), Read: u.Read, Write: u.Writes(), Output: u.Output}
	f.recorded[r.Model] = assembly.Total{Input: sum.Input + t.Input, Read: sum.Read + t.Read, Write: sum.Write + t.Write, Output: sum.Output + t.Output}
	f.open = slices.DeleteFunc(f.open, func(o call) bool { return o.of == c })
}
