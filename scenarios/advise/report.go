package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces/agents"
)

// Line says in one line what the best change is, or why there is none: the end of an audit.
func (a *Advice) Line() string {
	var none []string
	told := map[string]int{} // why nothing is advised, once for all agents that share the reason
	for i := range a.Agents {
		if one := &a.Agents[i]; len(one.Changes) > 0 {
			c := &one.Changes[0]
			return strings.TrimSuffix(fmt.Sprintf("%s: %s (%s) saves %s on these sessions, %s of those not used to choose it.%s",
				one.Title, c.Does, c.Setting, document.USD(c.SavesUSD, 2), share(c), c.Effect.loss()), ".")
		}
		why, title := ": "+a.Agents[i].none(), a.Agents[i].Title
		if at, known := told[why]; known {
			none[at] = strings.TrimSuffix(none[at], why) + ", " + title + why
			continue
		}
		told[why] = len(none)
		none = append(none, title+why)
	}
	return strings.Join(none, "; ")
}

// hopes reports whether a change that is not advised is likely to save.
func (x *AgentAdvice) hopes() bool { return len(x.Open) > 0 && x.Open[0].likely() }

// none says why no change is advised.
func (x *AgentAdvice) none() string {
	if x.hopes() {
		c := &x.Open[0]
		return strings.TrimSuffix(fmt.Sprintf("nothing saves for sure; %s (%s) likely does, %s on unseen sessions.%s", c.Does, c.Setting, share(c), c.Effect.loss()), ".")
	}
	switch {
	case x.Sessions == 0:
		return "its logs have no token counts: nothing is known of what the sessions cost"
	case x.priceless():
		return "no price of the models called: --price-as bills them as others"
	case len(agents.Of(x.Agent).Settings) == 0:
		return "its client offers no setting that a simulation follows"
	case x.Sessions < choose.Blocks:
		return fmt.Sprintf("too few sessions to advise: %s, and choosing on some and judging on others takes at least %d",
			document.Count(x.Sessions, "session"), choose.Blocks)
	}
	if x.Single == x.Sessions {
		return "each session has one call: a setting that decides what later calls send and read has none to decide on"
	}
	if slices.ContainsFunc(x.Open, func(c Change) bool { return c.worthless() != "" }) {
		return "nothing is worth changing"
	}
	return "no setting of this client saves reliably"
}

// priceless reports whether no call has a price.
func (x *AgentAdvice) priceless() bool { return x.Unpriced > 0 && x.PaidUSD == 0 }

// known reports whether what was paid is known.
func (x *AgentAdvice) known() bool { return x.Sessions > 0 && !x.priceless() }

// lacks says in a line each what the sessions do not have, or have of their own, and what that does to the figures.
func (x *AgentAdvice) lacks() (lines []string) {
	if x.Uncounted > 0 && x.Sessions > 0 {
		text := document.Count(x.Uncounted, "more session") + " without counts of input: left out, "
		if x.UncountedUSD > 0 {
			text += "and only the total has their outputs, " + cents(x.UncountedUSD) + "."
		} else {
			text += "as nothing is known of what they cost."
		}
		lines = append(lines, text)
	}
	if x.Bare > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s without counts of their input: they are in SIMULATED and not in PAID, so the model error is not known.",
			x.Bare, document.Count(x.Calls, "call")))
	}
	if x.Textless > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s without texts: what their agent would fetch again is not known, and not in SIMULATED.",
			x.Textless, document.Count(x.Sessions, "session")))
	}
	if x.Unseen > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s with most of their tokens, %s, in no line of the log: what a compaction keeps of these is not known, so SIMULATED is a guess there.",
			x.Unseen, document.Count(x.Sessions, "session"), document.Percent(x.UnseenShare)))
	}
	if x.Followed > 0 {
		often := ""
		if x.settings > 1 {
			often = "most often "
		}
		text := fmt.Sprintf("%d of %s under a setting that compactions show, %s%s: SIMULATED keeps it", x.Followed, document.Count(x.Sessions, "session"), often, x.Follow)
		if len(x.Changes) > 0 || len(x.Open) > 0 {
			text += ", and a threshold or a window advised here takes its place"
		}
		lines = append(lines, text+".")
	}
	if x.Single > 0 && len(x.Changes) > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s with one call: what later calls send and read is none of theirs.",
			x.Single, document.Count(x.Sessions, "session")))
	}
	if i := slices.IndexFunc(x.Changes, func(c Change) bool { return c.with != nil && c.with.N(measures.Compactions) > 0 }); i >= 0 && x.was.N(measures.Compactions) == 0 {
		lines = append(lines, "No session shows a summary, so the length of summaries is drawn: sim run --set "+strings.ReplaceAll(x.Changes[i].Assign, " ", " --set ")+
			" says what it costs with short and with long summaries.")
	}
	return lines
}

// Verdict says in a line for each agent what to set, what it saves, how certain that is and what is lost.
func (a *Advice) Verdict() document.List {
	var list document.List
	for i := range a.Agents {
		x := &a.Agents[i]
		if len(x.Changes) == 0 {
			list = append(list, document.Item{Label: x.Title, Text: x.none() + "."})
			continue
		}
		c := &x.Changes[0]
		text := fmt.Sprintf("%s saves %s of %s; %s on sessions not used to choose it.%s", c.Does,
			document.USD(c.SavesUSD, 2), document.USD(x.AsIsUSD, 2), share(c), c.Effect.loss())
		if more := len(x.Changes) - 1; more > 0 {
			text += fmt.Sprintf(" %s below.", document.Count(more, "more change"))
		}
		list = append(list, document.Item{Label: x.Title, Text: text})
	}
	return list
}

// share is what a change saves on unseen sessions, with its interval.
func share(c *Change) string {
	percent := document.SignedPercent
	return fmt.Sprintf("%s (95 %%: %s … %s%s)", percent(-c.Unseen), percent(-c.High), percent(-c.Low), drawn(c.Drawn))
}

// drawn says what was drawn for an interval where these are neither sessions nor blocks of time.
func drawn(units string) string {
	switch units {
	case choose.UnitProject, choose.UnitPerson:
		return ", drawn by " + units
	}
	return ""
}

// The units in which advice is told.
const (
	AsDollars = "dollars"
	AsTokens  = "tokens"
)

// Document reports advice on one screen, in dollars or in tokens; a page has both, and shows the unit as first.
func (a *Advice) Document(remarks []string, as string) *document.Document {
	d := &document.Document{Title: "What to set", JSON: document.Indented(a), Data: a.data}
	head, note := a.paidLine(), dollarsNote
	first, other, otherNote := a.inDollars(), a.inTokens(), tokensNote
	if as == AsTokens {
		d.Data, head = a.tokenData, a.used()
		first, other, note, otherNote = other, first, otherNote, note
	}
	if n := len(other); n > 0 {
		other[n-1].Blocks = append(other[n-1].Blocks, document.Text{Text: otherNote})
	}
	d.Head, d.Sections, d.Notes = append([]string{head}, remarks...), slices.Concat(first, other), []string{note}
	return d
}

// dollarsNote says what the columns of advice in dollars are.
const dollarsNote = "SIMULATED is the cost with the client unchanged, row own of `sim run --agent …`; its agent fetches again what it " +
	"has lost and can get back. CALLS are all that PAID pays for, logged summary calls included. UNLOGGED is the part of SIMULATED " +
	"that PAID lacks: calls that are in no log, such as summaries and repeated fetches. SAVES is what a setting takes off SIMULATED. " +
	"Unseen sessions are those not used to choose the value; for their interval sessions are drawn again or, where that is less sure, " +
	"all sessions of a block of time, a project or a person. RECALL is the share of what the agent uses later that is still in the " +
	"context or can be fetched."

// paidLine says what was paid.
func (a *Advice) paidLine() string {
	if !slices.ContainsFunc(a.Agents, func(x AgentAdvice) bool { return x.known() }) {
		return "what was paid is not known"
	}
	paid := cents(a.PaidUSD) + " paid at API prices"
	if a.DerivedUSD >= minAdvised {
		paid += ", including " + document.USD(a.DerivedUSD, 2) + " " + measures.DerivedText
	}
	return paid + "; with a subscription you do not pay it (--as tokens)"
}

// inDollars returns what was paid, and what to set in each client.
func (a *Advice) inDollars() []document.Section {
	list := []document.Section{{Way: AsDollars, Blocks: []document.Block{a.paid()}}}
	for i := range a.Agents {
		list = append(list, a.Agents[i].section(AsDollars, cmp.Or(a.Again, anywhere)))
	}
	return list
}

// largeError is the model error above which advice warns, as a share: twice the error of all
// recorded sessions together (docs/validation.md).
const largeError = 0.1

// paid lists what was paid by agent.
func (a *Advice) paid() *document.Table {
	t := &document.Table{
		Columns: append(document.Left("AGENT"), document.Right("", "SESSIONS", "CALLS", "PAID", "SIMULATED", "UNLOGGED")...),
	}
	for i := range a.Agents {
		x := &a.Agents[i]
		row := []any{x.Title, document.Whole(x.Sessions), document.Whole(x.Calls)}
		if x.Sessions == 0 {
			row = []any{x.Title, document.Whole(x.Uncounted), document.Dash}
		}
		for _, usd := range []float64{x.PaidUSD, x.AsIsUSD, x.UnloggedUSD} {
			if x.known() {
				row = append(row, cents(usd))
			} else {
				row = append(row, document.Dash)
			}
		}
		t.Rows = append(t.Rows, row)
		if x.Unpriced > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s of models without a price count as $0; --price-as bills them as another model.",
				x.Title, document.Count(x.Unpriced, "call")))
		}
	}
	return t
}

// cents formats an amount in cents. What is less than half a cent is not nothing, but for the error of sums.
func cents(usd float64) string {
	if usd > 1e-6 && usd < 0.005 {
		return "< $0.01"
	}
	return document.USD(usd, 2)
}

// anywhere stands in commands where nobody typed which sessions are read.
const anywhere = " PATH"

// section returns the changes of an agent, in dollars or tokens; again is what commands read.
func (x *AgentAdvice) section(as, again string) document.Section {
	s := document.Section{Title: x.Title, Way: as}
	say := func(format string, args ...any) {
		s.Blocks = append(s.Blocks, document.Text{Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case len(x.Changes) == 0 && x.hopes():
		say("Nothing saves for sure.") // what is likely is told below
	case len(x.Changes) == 0:
		say("%s", document.Sentence(x.none()))
	}
	if x.known() && len(agents.Of(x.Agent).Settings) == 0 {
		say("sim rank --agent %s%s compares what the strategies of other agents would make of these sessions.", x.Agent, again)
	}
	for _, line := range x.lacks() {
		say("%s", line)
	}
	switch {
	case as == AsTokens && x.Sessions > 0:
		s.Blocks = append(s.Blocks, x.tokens()...)
	case len(x.Changes) > 0:
		s.Blocks = append(s.Blocks, x.table())
	}
	for i := range x.Changes {
		s.Blocks = append(s.Blocks, document.Text{Lead: strconv.Itoa(i+1) + ". ", Text: x.how(&x.Changes[i], as, again)})
	}
	for i := range x.Open {
		if c := &x.Open[i]; c.verdict != stats.Same { // else it changes nothing on other sessions
			say("%s.", c.open())
		}
	}
	if t := x.Together; t != nil && (len(x.Changes) == 0 || t.Effect.loss() != "") { // the table has what they save, and not what they lose
		say("%s save %s, %s of what is simulated.%s", t.text(), document.USD(t.SavesUSD, 2), document.Percent(t.SavesUSD/x.AsIsUSD), t.Effect.loss())
	}
	if off, ok := x.Model.Relative(); ok && x.Bare == 0 {
		if apart := x.AsIsUSD/x.PaidUSD - 1; math.Abs(apart) > largeError {
			say("%s", x.apart(apart, off))
		}
		if math.Abs(off) > largeError {
			say("Model error on these sessions: %s. Simulations of these sessions may be as far off.", x.Model)
		}
	}
	return s
}

// apart says of which parts a difference of SIMULATED to PAID is, as a share of PAID, where the model alone is off by some.
func (x *AgentAdvice) apart(difference, off float64) string {
	expected, _ := x.Model.Expected()
	percent := document.SignedPercent
	var parts []string
	for _, p := range []struct {
		share float64
		what  string
	}{
		{off - expected, "for losses of the cache that come by chance, such as after an hour (the expected losses of sim run), which no simulated call has"},
		{expected, "that the model is off besides"},
		{difference - off, "for calls that are in no log and for compactions that the client's settings make otherwise"},
	} {
		if math.Abs(p.share) >= leastPart {
			parts = append(parts, percent(p.share)+" "+p.what)
		}
	}
	return fmt.Sprintf("SIMULATED differs from PAID by %s: %s.", percent(difference), strings.Join(parts, "; "))
}

// leastPart is the least part of a difference that is worth naming, as a share.
const leastPart = 0.005

// how says where a change goes, how sure it is and what it costs beside.
func (x *AgentAdvice) how(c *Change, as, again string) string {
	text := fmt.Sprintf("%s: %s. On unseen sessions %s.", c.Where, c.Snippet, share(c))
	if c.Edge != "" {
		text += fmt.Sprintf(" It is the %s value tried: %s.", c.Edge, c.EdgeWhy)
	}
	if c.From != "" && x.Version == "" {
		text += fmt.Sprintf(" From version %s; the client's version is not known.", c.From)
	}
	text += c.Effect.loss()
	if c.Caveat != "" {
		text += " " + document.Sentence(c.Caveat)
	}
	if as == AsDollars && !c.some() {
		text += fmt.Sprintf(" `sim run --agent %s --strategy own --set %s%s` shows %s.", x.Agent, strings.ReplaceAll(c.Assign, " ", " --set "), again,
			document.USD(x.AsIsUSD-c.SavesUSD, 2))
	}
	return text
}

// open says why a change is not advised.
func (c *Change) open() string {
	if c.likely() {
		text := fmt.Sprintf("Likely: %s (%s), %s on unseen sessions, and %.0f of 100 draws of such sessions save. %s: %s.%s What settles it: ",
			c.Does, c.Setting, share(c), math.Floor(100*c.Agree), c.Where, c.Snippet, c.Effect.loss())
		if c.More > 0 && c.More <= maxMore {
			text += "about " + document.Count(c.More, "more session") + " like these, or "
		}
		return text + "a week with it set"
	}
	text := fmt.Sprintf("Not advised: %s, %s on unseen sessions", c.Does, share(c))
	if why := c.worthless(); why != "" {
		return text + "; " + why
	}
	switch c.verdict {
	case stats.TooFew:
		text += "; too few sessions differ to show anything"
	case stats.Chance:
		chance := "that may be chance"
		if c.Low > 0 { // the verdict asks for more than an interval without 0
			chance = "so few sessions do not show it"
		}
		text += fmt.Sprintf("; %s: only a saving of %s would have shown", chance, document.Percent(c.Detectable))
	}
	if c.More > 0 && c.More <= maxMore {
		text += fmt.Sprintf("; about %s would decide it", document.Count(c.More, "more session"))
	}
	return text
}

// worthless says why a saving that chance does not explain is not worth a change, "" for another change.
func (c *Change) worthless() string {
	off := "the " + document.Percent(c.Off) + " that predictions under another setting were off on average"
	switch {
	case !c.saves():
	case c.Outweighed != nil:
		return fmt.Sprintf("on all sessions compared it saves %s, no more than %s, and of what the agent uses later %.0f %% is lost, instead of %.0f %%",
			document.Percent(c.Outweighed.Saves), off, 100*(1-c.Outweighed.Recall[1]), 100*(1-c.Outweighed.Recall[0]))
	case c.Unseen <= c.Off:
		return "that is within " + off
	}
	return ""
}

// maxMore is the largest number of further sessions worth naming: beyond it the
// setting may as well have no effect.
const maxMore = 1000

// table lists the changes and what they do together.
func (x *AgentAdvice) table() *document.Table {
	t := &document.Table{Columns: slices.Concat(document.Left("#", "CHANGE"),
		document.Right("", "SAVES", "%", "UNSEEN, 95 %"), document.Left("DRAWN BY"), document.Right("", "COMPACTIONS", "RECALL"))}
	row := func(n, does string, saves float64, unseen, by string, e *Effect) {
		recall := document.Dash
		if e.Recall != nil {
			recall = fmt.Sprintf("%.0f→%.0f %%", 100*e.Recall[0], 100*e.Recall[1])
		}
		t.Rows = append(t.Rows, []any{n, does, document.USD(saves, 2), document.SignedPercent(-saves / x.AsIsUSD), unseen, by,
			fmt.Sprintf("%d→%d", e.Compactions[0], e.Compactions[1]), recall})
	}
	for i := range x.Changes {
		c := &x.Changes[i]
		row(strconv.Itoa(i+1), c.Does, c.SavesUSD, document.SignedPercent(-c.High)+" … "+document.SignedPercent(-c.Low), c.Drawn, &c.Effect)
	}
	if x.Together != nil {
		row("", x.Together.text(), x.Together.SavesUSD, "", "", &x.Together.Effect)
	}
	return t
}

// text names the changes.
func (t *Together) text() string {
	n := len(t.Settings)
	switch t.Likely {
	case 0:
		return fmt.Sprintf("%d changes together", n)
	case n:
		return fmt.Sprintf("%d likely changes together", n)
	}
	return fmt.Sprintf("%d changes together, %d of them likely", n, t.Likely)
}

// data returns the list of changes for programs.
func (a *Advice) data() *document.Table {
	t := &document.Table{Columns: document.Columns("agent", "advised", "setting", "value", "saves_usd",
		"unseen_share", "unseen_low", "unseen_high", "unseen_detectable", "set", "likely", "drawn_by")}
	for i := range a.Agents {
		for n, list := range [][]Change{a.Agents[i].Changes, a.Agents[i].Open} {
			for j := range list {
				c := &list[j]
				t.Rows = append(t.Rows, []any{a.Agents[i].Agent, n == 0, c.Setting, c.Value,
					c.SavesUSD, c.Unseen, c.Low, c.High, c.Detectable, c.Assign, c.likely(), c.Drawn})
			}
		}
	}
	return t
}
