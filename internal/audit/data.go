package audit

import (
	"strings"

	"github.com/compactsim/compactsim/internal/document"
)

// data lays an audit out as one list for spreadsheets: each line says which part
// of the report it belongs to. What a line has not is empty.
func (r *Report) data() *document.Table {
	l := lines{Table: document.Table{Columns: document.Columns("section", "name", "text", "cost_usd", "saves_usd", "model_error_usd",
		"count", "tokens", "output_tokens", "rate_limit_tokens", "session", "file", "line")}}
	l.sum("total", "", &r.Total)
	for i := range r.Splits {
		for j := range r.Splits[i].Lines {
			l.sum(r.Splits[i].By, r.Splits[i].Lines[j].Name, &r.Splits[i].Lines[j].Sum)
		}
	}
	for i := range r.Findings {
		l.finding(&r.Findings[i])
	}
	for _, m := range r.Misses {
		l.add("miss", string(m.Cause), "", m.USD, nil, nil, m.Calls, m.Tokens)
	}
	for _, d := range r.Detector {
		l.add("detector", d.Reason, "", d.USD, nil, nil, d.Calls, d.Tokens)
	}
	for _, c := range r.Content {
		l.add("content", c.Part, "", c.USD, nil, nil, nil, c.Tokens)
	}
	for _, u := range r.Unread {
		l.add("never_read", u.Where, "", u.USD, nil, nil, u.Calls, u.Tokens)
	}
	for _, t := range r.Lifetimes {
		for i, usd := range []float64{t.Billed, t.Recorded, t.All5m, t.All1h} {
			l.add("lifetime", t.Source+" "+t.Tier, []string{"billed", "by arithmetic", "all 5m", "all 1h"}[i], usd, nil, nil, t.Calls)
		}
	}
	for i := range r.Compactions {
		c := &r.Compactions[i]
		l.at(&c.Place, "compaction", "", "", c.Rewrite, c.Net(), nil, c.Calls, c.Removed)
	}
	for i := range r.Results {
		l.carried("result", &r.Results[i])
	}
	for i := range r.Duplicates {
		l.carried("duplicate_read", &r.Duplicates[i])
	}
	for _, d := range r.Defects {
		l.add("open", d.Kind, d.Text+": "+strings.Join(d.Names, ", "), nil, nil, nil, d.Count)
	}
	if r.Reconciled != nil {
		l.reconciled(r.Reconciled)
	}
	return &l.Table
}

// lines is the list while it is laid out.
type lines struct{ document.Table }

// add adds a line of the first values.
func (l *lines) add(values ...any) {
	l.Rows = append(l.Rows, append(values, make([]any, len(l.Columns)-len(values))...))
}

// at adds a line about a place of a recording.
func (l *lines) at(p *Place, values ...any) {
	l.add(values...)
	row := l.Rows[len(l.Rows)-1]
	row[len(row)-3], row[len(row)-2], row[len(row)-1] = p.Session, p.File, p.Line
}

func (l *lines) sum(section, name string, s *Sum) {
	l.add(section, name, "", s.USD, nil, nil, s.Calls, s.Input(), s.Output, s.Limited)
}

func (l *lines) carried(section string, c *Carried) {
	l.at(&c.Place, section, c.Tool, c.Object, c.USD, nil, nil, c.Calls, c.Tokens)
}

func (l *lines) finding(f *Finding) {
	l.add("finding", f.Name, f.Title, f.USD, known(f.Saves), known(f.Error), f.Count, f.Tokens)
	for i := range f.Advice {
		a := &f.Advice[i]
		var usd any
		if a.Agent != "" {
			usd = a.USD
		}
		l.add("advice", f.Name, a.text(f), usd, known(a.Saves), known(a.Error))
	}
	for i := range f.Places {
		p := &f.Places[i]
		l.at(p, "place", f.Name, p.Text, p.USD)
	}
}

// known returns an amount, nil for none.
func known(usd *float64) any {
	if usd == nil {
		return nil
	}
	return *usd
}

func (l *lines) reconciled(x *Reconciled) {
	for i := range x.Lines {
		c := &x.Lines[i]
		for k, a := range []*Amounts{&c.Ours, &c.Theirs, &c.Difference} {
			section := "reconcile_" + []string{"recorded", "exported", "difference"}[k]
			l.add(section, c.Day, c.Model, a.USD, nil, nil, nil, a.Uncached+a.Read+a.Write5m+a.Write1h, a.Output)
		}
	}
}
