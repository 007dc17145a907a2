package needs

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// Fate counts things: how many an agent read again and then used, how many it used without reading them again, and how many it
// read again and did not visibly use.
type Fate struct{ Read, Used, Idle int32 }

// Add adds the counts of another.
func (f *Fate) Add(o Fate) { f.Read, f.Used, f.Idle = f.Read+o.Read, f.Used+o.Used, f.Idle+o.Idle }

// Fates are the counts of things by what showed them, a command's output or anything else, and by the strongest use up to the
// next compaction. Things that are not visibly used count by names.
type Fates struct{ Outputs, Others [recall.NumNeedKinds]Fate }

// Each calls do with the counts of each kind, and whether they are of outputs.
func (f *Fates) Each(do func(kind recall.NeedKind, output bool, n Fate)) {
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		do(k, false, f.Others[k])
		do(k, true, f.Outputs[k])
	}
}

// Add adds the counts of others.
func (f *Fates) Add(o *Fates) {
	for k := range f.Others {
		f.Outputs[k].Add(o.Outputs[k])
		f.Others[k].Add(o.Others[k])
	}
}

// strength orders kinds of needs: an edit needs the text, a path is often known otherwise.
var strength = [recall.NumNeedKinds]int8{recall.NeedEdit: 3, recall.NeedName: 2, recall.NeedNumber: 1}

// After returns the fates of what had been shown before a block in rounds from ≤ r < to of a thread. lost takes only
// what the recorded context no longer had.
func (x *Index) After(s *traces.Session, thread, from, to, before int32, lost bool) (f Fates) {
	type fate struct {
		kind               recall.NeedKind
		read, used, output bool
	}
	things := map[int32]fate{}
	name := func(block int32) int32 { // of a thing; -1 for what was shown first behind the point
		for source, ok := x.sources[block]; ok && source < block; source, ok = x.sources[block] {
			block = source
		}
		switch o := s.Blocks[block].Object; {
		case block >= before:
			return -1
		case o >= 0:
			return int32(len(s.Blocks)) + o
		}
		return block
	}
	for r := from; r < to; r++ {
		for i, list := 0, x.Round(thread, r); i < len(list); i++ {
			n := &list[i]
			block := n.Source()
			if block < 0 || n.Kind == recall.NeedRead {
				continue
			}
			thing := name(block)
			t, known := things[thing]
			if thing < 0 || lost && n.Had && !t.read {
				continue
			}
			if !known || strength[n.Kind] > strength[t.kind] || !t.used {
				t.kind = n.Kind
			}
			t.used, t.output = true, s.Blocks[block].Op == op.Exec
			things[thing] = t
		}
		for _, p := range x.Repeats(thread, r) {
			if thing := name(p.Source); thing >= 0 && (p.Lost || !lost) {
				t, known := things[thing]
				if !known {
					t.kind, t.output = recall.NeedName, s.Blocks[p.Source].Op == op.Exec
				}
				t.read = true
				things[thing] = t
			}
		}
	}
	for _, t := range things {
		n := &f.Others[t.kind]
		if t.output {
			n = &f.Outputs[t.kind]
		}
		switch {
		case !t.read:
			n.Used++
		case t.used:
			n.Read++
		default:
			n.Idle++
		}
	}
	return f
}

// Source returns the block that a fetch of the need brings back, -1 for none.
func (n *Need) Source() int32 {
	if n.Fetch >= 0 {
		return n.Fetch
	}
	return n.Found
}

// stretch is a part of a main thread behind a recorded compaction, up to the next one or another loss.
type stretch struct{ from, to, before int32 }

func stretches(t *traces.Thread) (list []stretch) {
	if t.Kind != traces.ThreadMain {
		return nil
	}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != traces.EventCompact || e.Round == 0 || int(e.Round) >= len(t.Rounds) {
			continue
		}
		to := int32(len(t.Rounds))
		for j := i + 1; j < len(t.Events); j++ {
			if o := &t.Events[j]; o.Kind != traces.EventForget && o.Round > e.Round {
				to = o.Round
				break
			}
		}
		list = append(list, stretch{e.Round, to, t.Rounds[e.Round].Input.From + e.Absorbed})
	}
	return list
}

// Behind returns the fates of what the compactions of the recording removed.
func (x *Index) Behind() Fates { return x.behind }

// lookBehind finds these fates.
func (x *Index) lookBehind(s *traces.Session) {
	for i := range s.Threads {
		for _, c := range stretches(&s.Threads[i]) {
			n := x.After(s, int32(i), c.from, c.to, c.before, true)
			x.behind.Add(&n)
		}
	}
}

// artifacts adds what a compaction left of paths, commands and failures. Of the summary only a recorded one counts.
func (j *Judge) artifacts(to *recall.Needs) {
	depth := to.Portion(recall.ByDepth, recall.Depth(j.depth))
	count := func(kind recall.Artifact, here bool, n float64) {
		a := to.Portion(recall.Artifacts, int(kind))
		a[recall.Whole] += n
		depth[recall.Whole] += n
		if here {
			a[recall.Part] += n
			depth[recall.Part] += n
		}
	}
	commands, failures := j.past.commands, j.past.failures
	for i := range j.present.blocks {
		state, b := j.shown.of(i).form(), &j.blocks[i]
		if state == absent || b.Kind != prompt.KindToolUse && b.Kind != prompt.KindToolResult {
			continue
		}
		here := state == whole || state == part
		command, failure := artifact(b)
		switch {
		case b.Object >= 0:
			j.meet(b, here)
		case command:
			count(recall.ArtifactCommand, here, 1)
		case failure:
			count(recall.ArtifactError, here, 1)
		}
	}
	count(recall.ArtifactCommand, false, float64(commands))
	count(recall.ArtifactError, false, float64(failures))
	read, edited := j.past.read, j.past.edited // objects of which nothing is here
	file := func(object int32, o uint8, here bool) {
		left := j.past.of(object)
		kind := recall.ArtifactRead
		if o&fileEdited != 0 || left.edits > 0 {
			kind = recall.ArtifactEdited
		}
		switch {
		case left.edits > 0:
			edited--
		case left.blocks > 0:
			read--
		}
		count(kind, here, 1)
	}
	for _, object := range j.restored {
		if n := int(object) + 1; n > len(j.files) {
			j.files = append(j.files, make([]uint8, n-len(j.files))...)
		}
		switch o := &j.files[object]; {
		case *o != 0:
			*o |= fileHere
		case j.past.of(object).blocks > 0:
			*o = fileMet | fileHere
			j.met = append(j.met, object)
		}
	}
	for _, object := range j.met {
		o := &j.files[object]
		file(object, *o, *o&fileHere != 0)
		*o = 0
	}
	j.met = j.met[:0]
	count(recall.ArtifactRead, false, float64(read))
	count(recall.ArtifactEdited, false, float64(edited))
}

// What artifacts found of an object.
const (
	fileMet uint8 = 1 << iota
	fileEdited
	fileHere
)

// meet records a block of an object, and whether the context has it.
func (j *Judge) meet(b *prompt.Block, here bool) {
	if n := int(b.Object) + 1; n > len(j.files) {
		j.files = append(j.files, make([]uint8, n-len(j.files))...)
	}
	o := &j.files[b.Object]
	if *o == 0 {
		*o = fileMet
		j.met = append(j.met, b.Object)
	}
	if edits(b) {
		*o |= fileEdited
	}
	if here {
		*o |= fileHere
	}
}
