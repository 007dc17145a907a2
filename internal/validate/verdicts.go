package validate

import (
	"fmt"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// VerdictCheck compares predictions and opinions with the server's own verdict
// on the prefix, over the calls that have one and are not the first of their
// thread.
type VerdictCheck struct {
	Calls int           `json:"calls"`
	Rows  []VerdictLine `json:"says"`
	// Changed counts the calls of which the server says that something diverged,
	// and what. Found are those of them that are predicted to miss, and Agreed
	// those that are predicted to miss for that reason. Unfounded are those
	// predicted to miss over a change where the server says that nothing diverged.
	Changed   int `json:"changed"`
	Found     int `json:"found"`
	Agreed    int `json:"agreed"`
	Unfounded int `json:"unfounded"`
}

// VerdictLine counts the calls with one prediction or opinion, by the server's
// verdict.
type VerdictLine struct {
	By     string         `json:"by"`
	Says   string         `json:"says"`
	Counts map[string]int `json:"calls_by_verdict"`

	by [traces.NumVerdicts]int
}

// Opinion is what others say of a call of a session: the client's break
// detector and the audit's cause of a miss.
type Opinion struct {
	Thread, Round   int // indices into the session
	Detector, Cause string
}

// agrees reports whether a predicted miss is what a verdict names. The server
// compares requests alone: an entry that it no longer has is gone, whether it
// expired or was evicted.
func agrees(v traces.Verdict, m prompt.MissClass) bool {
	switch v {
	case traces.VerdictGone:
		return m == prompt.MissExpiry || m == prompt.MissEviction
	case traces.VerdictMessages:
		return m == prompt.MissEdit || m == prompt.MissRewind || m == prompt.MissCompaction
	case traces.VerdictSystem, traces.VerdictTools:
		return m == prompt.MissHead
	case traces.VerdictModel:
		return m == prompt.MissModel
	}
	return false
}

// names reports whether a verdict says that something diverged, and what.
func names(v traces.Verdict) bool { return v >= traces.VerdictGone && v < traces.NumVerdicts }

// changes reports whether a class of miss is due to a changed request.
func changes(m prompt.MissClass) bool {
	return agrees(traces.VerdictMessages, m) || agrees(traces.VerdictSystem, m) || agrees(traces.VerdictModel, m)
}

// CheckVerdicts compares predictions and opinions with the server's verdicts;
// without any verdict it does nothing.
func (r *Report) CheckVerdicts(sessions []*traces.Session, opinions func(*traces.Session) []Opinion) {
	said := map[turn]Opinion{}
	for _, s := range sessions {
		for _, o := range opinions(s) {
			said[turn{s.ID, s.Threads[o.Thread].ID, o.Round}] = o
		}
	}
	v := &VerdictCheck{}
	for i := range r.calls {
		if c := &r.calls[i]; later(c) && c.round.Verdict != traces.VerdictNone {
			v.add(c, said[turn{c.Session, c.Thread, c.Round}])
		}
	}
	if v.Calls == 0 {
		return
	}
	for i := range v.Rows {
		row := &v.Rows[i]
		row.Counts = map[string]int{}
		for k, n := range row.by {
			if n > 0 {
				row.Counts[traces.Verdict(k).String()] = n
			}
		}
	}
	r.Verdicts = v
}

// add counts a call in the line of everyone who says something of it.
func (v *VerdictCheck) add(c *Call, o Opinion) {
	verdict := c.round.Verdict
	v.Calls++
	if names(verdict) {
		v.Changed++
		v.Found += index(c.Miss != prompt.MissNone)
		v.Agreed += index(agrees(verdict, c.Miss))
	}
	v.Unfounded += index(verdict == traces.VerdictSame && changes(c.Miss))
	read := "all"
	if float64(c.Actual.Read) < collapseShare*float64(c.Left) {
		read = "short"
	}
	for _, s := range [...][2]string{
		{"bill", read}, {"prediction", c.Miss.String()}, {"detector", o.Detector}, {"audit", o.Cause},
	} {
		if s[1] != "" {
			v.count(s[0], s[1], verdict)
		}
	}
}

// count adds to a line, which is inserted after the others of the same source.
func (v *VerdictCheck) count(by, says string, verdict traces.Verdict) {
	at := len(v.Rows)
	for i := range v.Rows {
		if v.Rows[i].By != by {
			continue
		}
		if at = i + 1; v.Rows[i].Says == says {
			v.Rows[i].by[verdict]++
			return
		}
	}
	line := VerdictLine{By: by, Says: says}
	line.by[verdict]++
	v.Rows = append(v.Rows[:at:at], append([]VerdictLine{line}, v.Rows[at:]...)...)
}

// table has a line for each prediction or opinion, and a column for each verdict.
func (v *VerdictCheck) table() *document.Table {
	t := &document.Table{Columns: document.Left("SAID BY", "SAYS")}
	var met [traces.NumVerdicts]int
	for i := range v.Rows {
		for k, n := range v.Rows[i].by {
			met[k] += n
		}
	}
	titles := [traces.NumVerdicts]string{"", "SAME", "UNAVAILABLE", "NOT FOUND", "MESSAGES", "SYSTEM", "TOOLS", "MODEL"}
	for k, n := range met {
		if n > 0 {
			t.Columns = append(t.Columns, document.Right("", titles[k])...)
		}
	}
	for i := range v.Rows {
		row := []any{v.Rows[i].By, v.Rows[i].Says}
		for k, n := range v.Rows[i].by {
			if met[k] > 0 {
				row = append(row, n)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{
		fmt.Sprintf("The server's verdict on %s; bill: short where less than nine tenths of what the last call left "+
			"were read. Same is no hit, and unavailable says little.", document.Count(v.Calls, "call")),
		fmt.Sprintf("It names a difference in %d: %d are predicted to miss, %d of them for that reason. Where it sees "+
			"none, %d are predicted to miss over a change.", v.Changed, v.Found, v.Agreed, v.Unfounded),
	}
	return t
}
