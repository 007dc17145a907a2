package results

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// rowForm is the encoded form of a row, breaksForm the encoded form of its breaks alone.
var (
	rowForm    = formOf(rowFields...)
	breaksForm = jsonlines.NewForm("breaks", breaks("breaks").Of)
)

func formOf(fields ...field) *jsonlines.Form {
	var list []jsonlines.Member
	for _, f := range fields {
		list = append(list, f.Member)
	}
	return jsonlines.NewForm("row", list)
}

func (r *Row) line(cell string) *jsonlines.Values {
	return &jsonlines.Values{
		Texts: []string{textCell: cell, textStrategy: r.Strategy, textSession: r.Session, textLoop: measures.LoopNames[r.Loop],
			textOrganisation: r.Organisation},
		Figures: r.Figures[:],
		Counts:  r.Breaks.Matrix()[:],
		Tallies: []map[string]int{tallyFirings: r.Firings, tallyReasons: r.Reasons},
	}
}

// take takes over what was read into a line of r.
func (r *Row) take(l *jsonlines.Values) {
	r.Strategy, r.Session, r.Organisation = l.Texts[textStrategy], l.Texts[textSession], l.Texts[textOrganisation]
	r.Loop, r.Breaks = measures.Loop(slices.Index(measures.LoopNames, l.Texts[textLoop])), (*confusion.Matrix)(l.Counts).Counts()
	r.Firings, r.Reasons = l.Tallies[tallyFirings], l.Tallies[tallyReasons]
}

// Where a row has its texts and tallies in a line.
const (
	textCell measures.ID = iota
	textStrategy
	textSession
	textLoop         = 3
	textOrganisation = 4
	tallyFirings     = 0
	tallyReasons     = 1
)

// maxima are the counts of which added rows keep the largest.
var maxima = [...]measures.ID{measures.ChainMax, measures.PeakContext, measures.MostUsed, measures.PeakCallsInFlight}

// bare declares a figure.
func bare(name string, kind jsonlines.Kind, id measures.ID) field {
	return field{Member: jsonlines.Member{Name: name, Kind: kind, At: int(id)}}
}

// or declares that f is left out when it is empty.
func (f field) or() field {
	f.Optional = true
	return f
}

// as declares the metrics of f.
func (f field) as(metrics ...Metric) field {
	f.metrics = metrics
	return f
}

// count declares a count that is a metric under its own name.
func count(id measures.ID, name string, at place, unit string, better measures.Better, definition string) field {
	return bare(name, jsonlines.Whole, id).as(figure(id, name, at, unit, better, definition))
}

// largest declares a count of which added rows keep the largest.
func largest(id measures.ID, name, unit, definition string) field {
	f := count(id, name, atCompaction, unit, measures.Lower, definition)
	f.metrics[0].Kind = measures.KindMaximum
	return f
}

// bound declares what a best schedule costs.
func bound(id measures.ID, name, definition string, more ...Metric) field {
	m := figure(id, name, atBound, measures.UnitUSD, measures.Neither, definition+"; no sample where it was not sought (sim run --bound)")
	m.Value = func(r *Row) (float64, bool) { return r.Figures[id], r.Figures[measures.Bounded] > 0 }
	return bare(name, jsonlines.Amount, id).or().as(append([]Metric{m}, more...)...)
}

// figure is a metric that is a figure of the row. Times rest on draws.
func figure(id measures.ID, name string, at place, unit string, better measures.Better, definition string) Metric {
	return Metric{place: at, id: id, Name: name, Unit: unit, Better: better, Exact: unit != measures.UnitSeconds, Definition: definition,
		Value: func(r *Row) (float64, bool) { return r.Figures[id], true }}
}

// part is a metric that is a part of another one, by a split.
func part(id measures.ID, name string, at place, unit string, of, by, definition string) Metric {
	m := figure(id, name, at, unit, measures.Lower, definition)
	m.Of, m.By = of, by
	return m
}

// counted is the metric of a count. A row without live calls has no sample of what they count.
func counted(id measures.ID, name, unit string, better measures.Better, group, definition string) Metric {
	m := figure(id, name, atCounts, unit, better, definition)
	m.Group = group
	if group == groupLive {
		m.Value = func(r *Row) (float64, bool) { return r.Figures[id], r.Figures[measures.LiveCalls] > 0 }
	}
	return m
}

// shared is the metric of the tokens read or written of what some share.
func shared(s measures.Sharing, part measures.ID, name, definition string) Metric {
	better := measures.Neither
	if part == measures.SharedWritten {
		better = measures.Lower
	}
	return counted(measures.SharedTokens+2*measures.ID(s)+part, name, measures.UnitTokens, better, groupUsers, definition)
}

// peakInFlight is the metric of calls in flight.
func peakInFlight() Metric {
	m := counted(measures.PeakCallsInFlight, "peak_calls_in_flight", measures.UnitCalls, measures.Neither, groupUsers,
		"most calls of all users in flight when one of the session's began, that one included; over several sessions the maximum")
	m.Kind = measures.KindMaximum
	return m
}

func countMembers() []jsonlines.Member {
	var list []jsonlines.Member
	for _, m := range rowCounts {
		list = append(list, jsonlines.Member{Name: m.Name, Kind: jsonlines.Whole, At: int(m.id)})
	}
	return list
}

// object declares members under a name.
func object(name string, of []jsonlines.Member) field {
	return field{Member: jsonlines.Member{Name: name, Kind: jsonlines.Object, Of: of}}
}

// split declares figures or objects by name: sorted, without those that are empty.
func split(name string, of []jsonlines.Member) field {
	slices.SortFunc(of, func(a, b jsonlines.Member) int { return cmp.Compare(a.Name, b.Name) })
	for i := range of {
		of[i].Optional = true
	}
	return object(name, of)
}

// figures declares figures that follow each other.
func figures(kind jsonlines.Kind, from measures.ID, names []string) []jsonlines.Member {
	var list []jsonlines.Member
	for i, name := range names {
		list = append(list, jsonlines.Member{Name: name, Kind: kind, At: int(from) + i})
	}
	return list
}

// each declares objects of so many figures, which follow each other.
func each(names []string, from measures.ID, size int, of func(name string, from measures.ID) field) []jsonlines.Member {
	var list []jsonlines.Member
	for i, name := range names {
		list = append(list, of(name, from+measures.ID(i*size)).Member)
	}
	return list
}

// tokens declares tokens by class.
func tokens(name string, from measures.ID) field {
	list := figures(jsonlines.Whole, from, measures.ClassNames[:])
	for i := range list {
		list[i].Optional = true
	}
	return object(name, list)
}

// costs declares costs by class.
func costs(name string, from measures.ID) field {
	return split(name, figures(jsonlines.Amount, from, measures.ClassNames[:]))
}

var missNames = namesOf[exchange.MissClass](exchange.NumMissClasses)

// namesOf returns the names of the first n values of a type.
func namesOf[T interface {
	~uint8
	String() string
}](n int) []string {
	var names []string
	for v := range T(n) {
		names = append(names, v.String())
	}
	return names
}

// breaks declares calls by what was said and by what was missed, "none" for a hit.
func breaks(name string) field {
	reasons, fields := namesOf[confusion.Reason](confusion.NumReasons), namesOf[confusion.Field](confusion.NumFields)
	missed := func(name string, from measures.ID) field {
		return split(name, figures(jsonlines.Small, from, missNames))
	}
	return object(name, []jsonlines.Member{
		split("calls", each(reasons, confusion.Calls, len(missNames), missed)).or().Member,
		split("changed", each(fields, measures.ID(confusion.Changed), len(missNames), missed)).or().Member,
		split("beside", figures(jsonlines.Small, measures.ID(confusion.Beside), reasons)).or().Member,
	})
}

func needMembers() []jsonlines.Member {
	tally := func(name string, from measures.ID) field {
		list := figures(jsonlines.Whole, from, []string{"count", "weight", "verbatim", "recoverable", "summarized", "most"})
		for i := range list {
			list[i].Optional = i >= recall.Verbatim
		}
		return object(name, list)
	}
	portions := func(name string, from int, names []string) jsonlines.Member {
		return split(name, each(names, measures.Needs+measures.ID(from), len(recall.Portion{}), func(name string, from measures.ID) field {
			return object(name, figures(jsonlines.Whole, from, []string{"part", "whole"}))
		})).or().Member
	}
	figure := func(name string, at int) jsonlines.Member {
		return bare(name, jsonlines.Whole, measures.Needs+measures.ID(at)).or().Member
	}
	return []jsonlines.Member{
		split("kinds", each(recall.NeedNames(), measures.Needs+recall.Kinds, len(recall.NeedTally{}), tally)).Member,
		figure("removed_tokens", recall.Removed),
		portions("instructions", recall.Instructions, recall.Depths()),
		figure("instructions_summarized", recall.Directed),
		portions("artifacts", recall.Artifacts, recall.ArtifactNames()),
		portions("artifacts_by_depth", recall.ByDepth, recall.Depths()),
		figure("fetches", recall.Fetches),
		figure("left_out", recall.LeftOut),
	}
}

// Rows are the rows of a cell, one per session. Most figures of a row are 0, and most others are small whole numbers: a
// row takes some 400 bytes here and 2.7 kB as a Row, of which a run has one for each session and strategy.
type Rows struct{ list []packed }

type packed struct {
	session, strategy, organisation string
	loop                            measures.Loop
	breaks                          confusion.Counts
	firings, reasons                map[string]int
	figures                         string
}

// With returns rs with more rows behind it.
func (rs Rows) With(rows ...*Row) Rows {
	rs.list = slices.Clone(rs.list)
	for _, r := range rows {
		rs.Keep(r)
	}
	return rs
}

// Len returns the number of rows.
func (rs *Rows) Len() int { return len(rs.list) }

// Session returns the session of the i-th row.
func (rs *Rows) Session(i int) string { return rs.list[i].session }

// At returns a copy of the i-th row. Its maps are shared by all copies of the row, and not to be changed.
func (rs *Rows) At(i int) *Row {
	r := new(Row)
	rs.list[i].into(r)
	return r
}

// All yields the index and a copy of each row.
func (rs *Rows) All() iter.Seq2[int, *Row] {
	return func(yield func(int, *Row) bool) {
		for i := range rs.list {
			if !yield(i, rs.At(i)) {
				return
			}
		}
	}
}

// List returns copies of all rows.
func (rs *Rows) List() []*Row {
	list := make([]*Row, len(rs.list))
	for i := range list {
		list[i] = rs.At(i)
	}
	return list
}

// Keep adds a copy of a row.
func (rs *Rows) Keep(r *Row) { rs.list = append(rs.list, pack(r)) }

// Edit keeps what f makes of the i-th row.
func (rs *Rows) Edit(i int, f func(*Row)) {
	r := rs.At(i)
	f(r)
	rs.list[i] = pack(r)
}

// Sort sorts rows by session.
func (rs *Rows) Sort() {
	slices.SortStableFunc(rs.list, func(a, b packed) int { return strings.Compare(a.session, b.session) })
}

// Drop leaves out the rows of sessions.
func (rs *Rows) Drop(drop func(session string) bool) {
	rs.list = slices.DeleteFunc(rs.list, func(p packed) bool { return drop(p.session) })
}

// without returns the rows of the sessions that are not dropped.
func (rs *Rows) without(drop func(session string) bool) Rows {
	some := Rows{slices.Clone(rs.list)}
	some.Drop(drop)
	return some
}

// A figure that is a whole number below 2^53 is packed as twice itself, any other one as unpacked and its 8 bytes.
const unpacked = 1

// pack returns a row as it is kept: a bit for each figure that is not 0, and these figures.
func pack(r *Row) packed {
	var buf [measures.NumFigures/8 + 1 + 9*measures.NumFigures]byte
	text := buf[:measures.NumFigures/8+1]
	for id, v := range r.Figures {
		if math.Float64bits(v) == 0 { // -0 stays
			continue
		}
		text[id/8] |= 1 << (id % 8)
		if v > 0 && v < 1<<53 && v == math.Trunc(v) {
			text = binary.AppendUvarint(text, uint64(v)<<1)
			continue
		}
		text = binary.LittleEndian.AppendUint64(append(text, unpacked), math.Float64bits(v))
	}
	return packed{r.Session, r.Strategy, r.Organisation, r.Loop, r.Breaks, r.Firings, r.Reasons, string(text)}
}

// into makes r the row that was packed.
func (p *packed) into(r *Row) {
	*r = Row{Session: p.session, Strategy: p.strategy, Organisation: p.organisation, Loop: p.loop, Breaks: p.breaks,
		Firings: p.firings, Reasons: p.reasons}
	bits, rest := p.figures[:measures.NumFigures/8+1], []byte(p.figures[measures.NumFigures/8+1:])
	for id := range r.Figures {
		if bits[id/8]&(1<<(id%8)) == 0 {
			continue
		}
		n, used := binary.Uvarint(rest)
		if rest = rest[used:]; n != unpacked {
			r.Figures[id] = float64(n >> 1)
			continue
		}
		r.Figures[id], rest = math.Float64frombits(binary.LittleEndian.Uint64(rest)), rest[8:]
	}
}
