package fidelity

import "strings"

// Retention is how many entities a text keeps, by kind.
type Retention struct{ All, Kept [NumKinds]int }

// Total returns the sums over kinds.
func (r *Retention) Total() (all, kept int) {
	for k := range NumKinds {
		all += r.All[k]
		kept += r.Kept[k]
	}
	return all, kept
}

// Share returns the share of entities kept, in 0…1; false without entities.
func (r *Retention) Share() (float64, bool) {
	all, kept := r.Total()
	if all == 0 {
		return 0, false
	}
	return float64(kept) / float64(all), true
}

// Add adds o to r.
func (r *Retention) Add(o *Retention) {
	for k := range NumKinds {
		r.All[k] += o.All[k]
		r.Kept[k] += o.Kept[k]
	}
}

// Text is a text that entities are looked for in.
type Text struct{ squeezed string }

// NewText prepares a text.
func NewText(s string) Text { return Text{squeeze(s)} }

// Has reports whether the text has an entity word for word, white space aside.
// root is the folder of the project: a path below it may be given relative to it;
// "" for none.
func (t Text) Has(e Entity, root string) bool {
	if strings.Contains(t.squeezed, e.Text) {
		return true
	}
	rest, below := strings.CutPrefix(e.Text, strings.TrimSuffix(root, "/")+"/")
	return e.Kind == Path && root != "" && below && len(rest) >= minText && strings.Contains(t.squeezed, rest)
}

// Keep tells which of the entities the text has.
func (t Text) Keep(entities []Entity, root string) Retention {
	var r Retention
	for _, e := range entities {
		r.All[e.Kind]++
		if t.Has(e, root) {
			r.Kept[e.Kind]++
		}
	}
	return r
}

// Drift returns what each summary of a chain keeps of the entities that the first
// one stood for: how much is lost by summarising summaries.
func Drift(entities []Entity, root string, summaries []string) []Retention {
	list := make([]Retention, len(summaries))
	for i, s := range summaries {
		list[i] = NewText(s).Keep(entities, root)
	}
	return list
}
