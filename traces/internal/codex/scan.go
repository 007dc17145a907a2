package codex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
	"github.com/compactsim/compactsim/traces/signs"
)

// rollout is one file.
type rollout struct {
	*assembly.File
	*assembly.Rounds
	id        string // of the session: the id in the first session_meta line
	project   string
	local     bool   // the last compaction was written by the model
	compacted bool   // there is one
	provider  string // id in the client's settings; "" where the version does not log it
	versions  []string
	window    int64 // largest context window logged, tokens
	head      head
	start     int64   // time of the first line with one, unix ns
	until     int64   // time of the last line with one, unix ns
	asked     setting // of the last turn_context
	tokenCounts
	called string // id of the last tool call
	line   record

	lineage
	copied int    // calls at the start that are a parent's
	edits  int    // events ahead of the first line that is not a parent's
	marks  []mark // of the calls

	held   *response        // the last record, until it is known what it ends
	alone  []*response      // records that no token count has repeated yet
	wrotes []*assembly.Call // calls that wrote summaries, of which a copy that ends ahead of the summary does not know it
	untold bool             // the last call was ended by a token count, and no record was read for it
}

// tokenCounts is what the token counts of a rollout have said so far.
type tokenCounts struct {
	totals  tokenUsage // of the last token count
	last    tokenUsage // of the last token count
	info    []byte     // of the last one with totals that cannot be read
	nothing int32      // line of a token count without counts behind an answer that has none yet, 0 for none
	repeats int        // token counts that repeat the last one though the model had answered since
	lost    int64      // tokens that the totals have and no token count
	// thread is the session's in records where these and the description have different ids, as after a replacement of ids; "" until
	// a token count repeats a record of another thread, the last one of which is stranger.
	thread, stranger string
	strange          tokenUsage // of the stranger's last record
}

// head is what the rollout shows of the prefix before the conversation.
type head struct {
	instructions int // bytes
	tools        int // bytes of the definitions the client adds, JSON
	digest       prompt.Digest
}

// record is one line of a rollout. Fields that share its bytes are valid until the next line is read.
type record struct {
	timestamp, typ string
	ordinal        int64 // place of the line in the session, by versions of late 2026; -1 in all others

	item    responseItem // of a response_item
	event   event        // of an event_msg
	setting              // of a turn_context
	turn    string       // id of a turn that begins here; "" for none
	rest    []byte       // the payload, JSON
	as      string       // the type that the payload was read as
}

// setting is what the client asks for.
type setting struct{ model, effort string }

const tokenCount = "token_count"

// event is the payload of an event_msg. Only token counts matter.
type event struct {
	typ, turn string
	info      []byte // JSON
}

// read reads a line. Its payload is scanned once if the type comes before it, as clients write it.
func (r *record) read(line []byte) error {
	*r = record{item: r.item, ordinal: -1}
	err := jsonscan.Object(line, jsonscan.To("timestamp", &r.timestamp), jsonscan.Count("ordinal", &r.ordinal), jsonscan.To("type", &r.typ), jsonscan.To("payload", r.payload))
	if err == nil && r.as != r.typ {
		s := jsonscan.New(r.rest)
		r.payload(&s)
		err = s.Err()
	}
	return err
}

// payload reads the payload of a line if its type is known.
func (r *record) payload(s *jsonscan.Scanner) {
	from := s.Offset()
	switch r.as = r.typ; r.as {
	case "response_item":
		r.item.read(s)
	case "event_msg":
		r.event = event{}
		s.Object(jsonscan.To("type", &r.event.typ), jsonscan.To("info", &r.event.info), jsonscan.To("turn_id", &r.event.turn))
		if r.event.typ == "task_started" {
			r.turn = r.event.turn
		}
	case "turn_context":
		r.setting = setting{}
		s.Object(jsonscan.To("model", &r.model), jsonscan.To("turn_id", &r.turn), jsonscan.To("effort", &r.effort))
	default:
		if s.Peek() != 0 { // lines of other types may have none
			s.Skip()
		}
	}
	r.rest = s.From(from)
}

var (
	errNoRecord = errors.New("line is no record of a rollout: it has no type")
	errJoined   = errors.New("another session begins here: rollouts are joined in one file, and read as one session")
	errTurn     = errors.New("settings of another turn than the one that began: its beginning is lost, or they are of another session")
	errOrder    = errors.New("the number of the line is not above the number of the line before: a line is here twice, or in another place")
	errNoCounts = errors.New("event without a type, or a token count without counts that can be read")
)

// scan reads one file.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*rollout, error) {
	f := assembly.NewFile(in.Name, opts)
	ro := &rollout{File: f, Rounds: assembly.NewRounds(assembly.Main(), f)}
	ro.line.item = newItem(assembly.Maker{Ear: opts.Listener})
	err := ro.Read(ctx, opts, in, ro.parse)
	ro.settle()
	return ro, err
}

// parse reads one line.
func (ro *rollout) parse(ln assembly.Line) error {
	r := &ro.line
	if err := r.read(ln.Text); err != nil {
		return err
	}
	if r.typ == "" {
		return errNoRecord
	}
	at := ro.Stamp(ln.Number, []byte(r.timestamp))
	if at != 0 {
		if ro.start == 0 {
			ro.start = at
		}
		ro.until = max(ro.until, at)
	}
	var err error
	if r.turn != "" && !ro.begin(r.turn, r.typ == "event_msg") {
		err = ro.Refuse(ln.Number, errTurn)
	}
	if !ro.follows(r) {
		err = ro.Refuse(ln.Number, errOrder)
	}
	if ro.pass(at); err != nil {
		return err
	}
	it := &assembly.Step{At: at, Line: int32(ln.Number)}
	switch r.typ {
	case "session_meta":
		err = ro.meta(ln.Number, r.rest)
	case "turn_context":
		ro.settle()
		r.effort = cmp.Or(r.effort, ro.asked.effort)
		if ro.asked.effort != "" && r.effort != ro.asked.effort {
			ro.Sign(signs.Effort)
		}
		ro.asked = r.setting
	case "response_item":
		ro.settle()
		err = ro.response(it, &r.item)
	case "event_msg":
		err = ro.event(it, r.event)
	case "token_usage_record":
		err = ro.record(it, r.rest)
	case "compacted":
		var message, made string
		if message, made, err = replaced(it, r.rest, r.item.maker, ro.unknown); err == nil {
			ro.wrote(it, made)
			ro.compacted, ro.local = true, message != ""
			ro.takeBack(it, message)
			ro.Add(it)
		}
	case "world_state":
	default:
		ro.Unknown[r.typ]++
		var e event
		if jsonscan.Object(r.rest, jsonscan.To("type", &e.typ)) == nil && e.typ == tokenCount {
			err = errNoCounts
		}
	}
	if ro.copies() {
		ro.copied, ro.edits = len(ro.Calls), len(ro.Happened)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.typ, err)
	}
	return nil
}

// meta reads the description of the session. Later lines repeat the first when a session
// is resumed, and are the parents' in a fork, so the first one counts.
func (ro *rollout) meta(line int, payload []byte) error {
	var id, project, version, forkedFrom, stamp, provider string
	var instructions, tools, source []byte
	if err := jsonscan.Object(payload,
		jsonscan.To("id", &id), jsonscan.To("cwd", &project), jsonscan.To("cli_version", &version), jsonscan.To("model_provider", &provider),
		jsonscan.To("forked_from_id", &forkedFrom), jsonscan.To("source", &source), jsonscan.To("timestamp", &stamp),
		jsonscan.To("base_instructions", &instructions), jsonscan.To("dynamic_tools", &tools)); err != nil {
		return err
	}
	if version != "" && !slices.Contains(ro.versions, version) {
		ro.versions = append(ro.versions, version)
	}
	if ro.id != "" {
		switch {
		case id == ro.id:
			ro.Sign(signs.Resume)
		case slices.Contains(ro.parents, id):
		case ro.copies() || len(ro.Calls) == 0:
			ro.parent(ro.id, id)
		default:
			ro.totals, ro.last = tokenUsage{}, tokenUsage{}
			return ro.Refuse(line, errJoined)
		}
		return nil
	}
	ro.id, ro.project, ro.provider = id, project, provider
	ro.describe(id, forkedFrom, source, stamp)
	ro.head = head{instructions: len(instructions), tools: len(tools)}
	ro.head.digest = prompt.DigestBytes(instructions).Extend(prompt.DigestBytes(tools))
	return nil
}

// response reads an item of the conversation.
func (ro *rollout) response(it *assembly.Step, r *responseItem) error {
	known, err := r.fill(it)
	switch {
	case err != nil:
		return err
	case known:
		if it.Kind == assembly.StepReply {
			ro.called = cmp.Or(r.callID, ro.called)
			ro.replied = ro.replied || ro.own
		}
		ro.Add(it)
	default:
		ro.unknown(r.typ)
	}
	return nil
}

// unknown counts an item of a type that the reader does not know. Snapshots are
// known not to reach the model.
func (ro *rollout) unknown(typ string) {
	if typ != "ghost_snapshot" {
		ro.Unknown["response_item/"+typ]++
	}
}

// event reads a token count. One that repeats the last totals is no call, unless it
// has counts of its own.
func (ro *rollout) event(it *assembly.Step, e event) error {
	info := kind(e.info)
	switch {
	case e.typ == tokenCount && info == 'n': // limits of the rate only
		if ro.nothing = 0; ro.Answered() && !ro.copies() {
			ro.nothing = it.Line
		}
		return nil
	case e.typ == "" || (e.typ == tokenCount) != (info == '{'): // no other event has counts
		return errNoCounts
	case info != '{':
		ro.countAnswer(e.typ, it.Line)
		return nil
	}
	var sums, counts []byte
	var total, last tokenUsage
	var window int64
	if err := errors.Join(
		jsonscan.Object(e.info, jsonscan.To("total_token_usage", &sums), jsonscan.To("last_token_usage", &counts),
			jsonscan.To("model_context_window", &window)),
		total.read(sums), last.read(counts)); err != nil {
		return err
	}
	repeated := total.same(&ro.totals) && (last.same(&ro.last) || last.Total != last.Input+last.Output)
	if min(total.sure(), ro.totals.sure()) < 0 {
		repeated = bytes.Equal(e.info, ro.info)
	}
	if repeated {
		if ro.Answered() && ro.held == nil && !ro.copies() {
			ro.repeats++
		}
		return nil
	}
	if total.sure() < 0 {
		ro.info = bytes.Clone(e.info)
	}
	if window > 0 && window <= assembly.MaxTokens {
		ro.window = max(ro.window, window)
	}
	name, before := fmt.Sprint(total), ro.totals
	if len(ro.parents) > 0 && ro.own && !ro.counted {
		before = total.less(&last) // the rest is the parents'
	}
	ro.totals, ro.last = total, last
	if ro.stranger != "" && ro.strange.equal(&last) {
		ro.thread = ro.stranger
	}
	if ro.baseline() || ro.recorded(name, &last) {
		return nil
	}
	it.Kind, it.Model, it.Gateway, it.Usage = assembly.StepCount, ro.asked.model, ro.provider, last.usage()
	if !ro.copies() {
		it.Usage.Doubt = ro.sum(&before, &total, &last, it.Line)
	}
	if ro.counted = ro.own; len(ro.parents) > 0 {
		it.ID = fmt.Sprint(ro.id, total) // another child may have used as much
	} else {
		it.ID = fmt.Sprint(cmp.Or(ro.called, ro.id), total)
	}
	it.Final = it.Usage.OK
	ro.untold, ro.nothing = true, 0
	ro.end(it, name)
	return nil
}

// countAnswer counts the answer of a turn that is over and that no token count followed.
func (ro *rollout) countAnswer(typ string, line int32) {
	if typ != "task_complete" {
		return
	}
	if ro.settle(); ro.Answered() && !ro.copies() {
		ro.nothing = 0
		ro.Lacks(1, int(line), "the turn is over and its last answer has no token counts")
	}
}

// sum holds the totals of a token count against those before and its own counts. Where
// they have grown by more, calls are missing; otherwise a difference is reported as a
// contradiction. In all recordings they grow by the counts of the call.
func (ro *rollout) sum(before, total, last *tokenUsage, line int32) (doubt bool) {
	if min(total.sure(), before.sure()) < 0 {
		return true
	}
	if last.Input < 0 || last.Output < 0 {
		return false // the call is not counted
	}
	input, cached, output := before.Input+last.Input, before.Cached+last.Cached, before.Output+last.Output
	if more := total.Input - input + total.Output - output; more > 0 && total.Input >= input && total.Output >= output {
		ro.lost += more
		ro.Lacks(1, int(line), "totals have %d tokens more than the calls up to here: token counts are missing", more)
		return false
	}
	return total.Input != input || total.Output != output || last.Cached >= 0 && total.Cached != cached
}

// replaced reads what replaced the history: messages that stayed or came back,
// and a summary, which is either text or an item that only the server can read.
// It calls unknown with the types of unknown items, and returns the id of the response
// that has the summary where the log says it.
func replaced(it *assembly.Step, payload []byte, mk assembly.Maker, unknown func(typ string)) (message, made string, err error) {
	var history [][]byte
	if err := jsonscan.Object(payload, jsonscan.To("message", &message), jsonscan.To("replacement_history", &history),
		jsonscan.To("compaction_response_id", &made)); err != nil {
		return "", "", err
	}
	it.Kind = assembly.StepCompact
	var summary []assembly.Block
	if message != "" {
		r := newItem(mk)
		text := []byte(message)
		summary = append(summary, r.withText(newBlock(prompt.KindSummary, text), false, text))
	}
	for _, text := range history {
		item, kept, of := newItem(mk), assembly.Step{}, jsonscan.New(text)
		if item.read(&of); of.Err() != nil {
			return "", "", of.Err()
		}
		known, err := item.fill(&kept)
		if err != nil {
			return "", "", err
		}
		if !known {
			unknown(item.typ)
		}
		for _, b := range kept.Blocks {
			if b.Kind == prompt.KindSummary {
				summary = append(summary, b)
			} else {
				it.Blocks = append(it.Blocks, b)
			}
		}
	}
	it.Blocks = append(it.Blocks, summary...)
	return message, made, nil
}

// texts reads the texts of a line of a rollout again.
func texts(line []byte) []traces.Text {
	r := record{item: newItem(assembly.Maker{Keep: true})}
	var it assembly.Step
	if r.read(line) != nil {
		return nil
	}
	switch r.typ {
	case "response_item":
		_, _ = r.item.fill(&it) // what cannot be read has no blocks
	case "compacted":
		_, _, _ = replaced(&it, r.rest, r.item.maker, func(string) {})
	}
	return assembly.TextsOf(it.Blocks)
}
