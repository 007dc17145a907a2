package reports

import (
	"strings"

	"github.com/compactsim/compactsim/internal/audit"
)

// auditLines lays an audit out as one list for spreadsheets: each line says which
// part of the report it belongs to. What a line has not is empty.
func auditLines(r *audit.Report) *Sheet {
	l := &lineSheet{Sheet{Columns: []SheetColumn{
		{Name: "section"}, {Name: "name"}, {Name: "text"}, {Name: "cost_usd"}, {Name: "saves_usd"}, {Name: "model_error_usd"},
		{Name: "count"}, {Name: "tokens"}, {Name: "output_tokens"}, {Name: "rate_limit_tokens"}, {Name: "session"}, {Name: "file"}, {Name: "line"},
	}}}
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
		l.add("miss", string(m.Cause), "", m.USD, "", "", m.Calls, m.Tokens, "", "", "", "", "")
	}
	for _, d := range r.Detector {
		l.add("detector", d.Reason, "", d.USD, "", "", d.Calls, d.Tokens, "", "", "", "", "")
	}
	for _, c := range r.Content {
		l.add("content", c.Part, "", c.USD, "", "", "", c.Tokens, "", "", "", "", "")
	}
	for _, u := range r.Unread {
		l.add("never_read", u.Where, "", u.USD, "", "", u.Calls, u.Tokens, "", "", "", "", "")
	}
	for i := range r.Lifetimes {
		l.lifetime(&r.Lifetimes[i])
	}
	for i := range r.Compactions {
		c := &r.Compactions[i]
		l.add("compaction", "", "", c.Rewrite, c.Net(), "", c.Calls, c.Removed, "", "", c.Place.Session, c.Place.File, c.Place.Line)
	}
	l.carried("result", r.Results)
	l.carried("duplicate_read", r.Duplicates)
	for _, d := range r.Defects {
		l.add("open", d.Kind, d.Text+": "+strings.Join(d.Names, ", "), "", "", "", d.Count, "", "", "", "", "", "")
	}
	if r.Reconciled != nil {
		l.reconciled(r.Reconciled)
	}
	return &l.Sheet
}

type lineSheet struct{ Sheet }

func (l *lineSheet) add(values ...any) { l.Rows = append(l.Rows, values) }

func (l *lineSheet) sum(section, name string, s *audit.Sum) {
	l.add(section, name, "", s.USD, "", "", s.Calls, s.Input(), s.Output, s.Limited, "", "", "")
}

func (l *lineSheet) finding(f *audit.Finding) {
	l.add("finding", f.Name, f.Title, f.USD, amount(true, f.Saves), amount(true, f.Error), f.Count, f.Tokens, "", "", "", "", "")
	for i := range f.Advice {
		a := &f.Advice[i]
		l.add("advice", f.Name, adviceText(f, a), amount(a.Agent != "", &a.USD), amount(true, a.Saves), amount(true, a.Error), "", "", "", "", "", "", "")
	}
	for _, p := range f.Places {
		l.add("place", f.Name, p.Text, p.USD, "", "", "", "", "", "", p.Session, p.File, p.Line)
	}
}

// amount returns what an empty or a full cell holds.
func amount(known bool, usd *float64) any {
	if !known || usd == nil {
		return ""
	}
	return *usd
}

func (l *lineSheet) lifetime(t *audit.Lifetime) {
	for _, as := range []struct {
		text string
		usd  float64
	}{{"billed", t.Billed}, {"by arithmetic", t.Recorded}, {"all 5m", t.All5m}, {"all 1h", t.All1h}} {
		l.add("lifetime", t.Source+" "+t.Tier, as.text, as.usd, "", "", t.Calls, "", "", "", "", "", "")
	}
}

func (l *lineSheet) carried(section string, list []audit.Carried) {
	for i := range list {
		c := &list[i]
		l.add(section, c.Tool, c.Object, c.USD, "", "", c.Calls, c.Tokens, "", "", c.Place.Session, c.Place.File, c.Place.Line)
	}
}

func (l *lineSheet) reconciled(x *audit.Reconciled) {
	for i := range x.Lines {
		c := &x.Lines[i]
		for _, side := range []struct {
			name string
			a    *audit.Amounts
		}{{"recorded", &c.Ours}, {"exported", &c.Theirs}, {"difference", &c.Difference}} {
			input := side.a.Uncached + side.a.Read + side.a.Write5m + side.a.Write1h
			l.add("reconcile_"+side.name, c.Day, c.Model, side.a.USD, "", "", "", input, side.a.Output, "", "", "", "")
		}
	}
}
