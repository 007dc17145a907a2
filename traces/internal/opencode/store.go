package opencode

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/sqlite"
)

// stored is the database of the client (opencode.db, kilo.db): tables of sessions, of messages and of parts, whose data
// are the JSON of an export.
var stored = sqlite.Documents[info, *export]{
	List:  infos,
	Names: func(s *info) (id, parent string) { return s.ID, s.Parent },
	Write: func(ctx context.Context, store *sqlite.Store, s *info, w *bytes.Buffer) (int, error) {
		return s.write(ctx, store, w)
	},
	Read: func(part *assembly.File, opts *traces.Options, text []byte) (*export, error) {
		x := newExport(part, opts)
		return x, x.read(text)
	},
}

// infos returns what describes the sessions of a store.
func infos(ctx context.Context, store *sqlite.Store) (list []info, err error) {
	rows, err := store.QueryContext(ctx, "select id, coalesce(parent_id, ''), directory, version, time_created from session order by time_created, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s info
		if err := rows.Scan(&s.ID, &s.Parent, &s.Directory, &s.Version, &s.Time.Created); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// write writes a session as an export, a message a line, and returns the number of its messages.
func (s *info) write(ctx context.Context, store *sqlite.Store, w *bytes.Buffer) (n int, err error) {
	fmt.Fprintf(w, `{"info":{"id":%s,"parentID":%s,"directory":%s,"version":%s,"time":{"created":%d}},"messages":[`,
		quote(s.ID), quote(s.Parent), quote(s.Directory), quote(s.Version), s.Time.Created)
	parts, err := s.parts(ctx, store)
	if err != nil {
		return 0, err
	}
	rows, err := store.QueryContext(ctx, "select id, data from message where session_id = ? order by time_created, id", s.ID)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var id string
		var data sql.RawBytes
		if err := rows.Scan(&id, &data); err != nil {
			return n, err
		}
		if n > 0 {
			w.WriteByte(',')
		}
		w.WriteString("\n{\"info\":")
		writeNamed(w, id, data)
		w.WriteString(",\"parts\":[")
		w.Write(parts[id])
		w.WriteString("]}")
	}
	w.WriteString("]}")
	return n, rows.Err()
}

// parts returns the parts of a session's messages, as the members of a list, by message.
func (s *info) parts(ctx context.Context, store *sqlite.Store) (map[string][]byte, error) {
	rows, err := store.QueryContext(ctx, "select message_id, id, data from part where session_id = ? order by message_id, id", s.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts := map[string][]byte{}
	for rows.Next() {
		var message, id string
		var data sql.RawBytes
		if err := rows.Scan(&message, &id, &data); err != nil {
			return nil, err
		}
		w := bytes.NewBuffer(parts[message])
		if w.Len() > 0 {
			w.WriteByte(',')
		}
		writeNamed(w, id, data)
		parts[message] = w.Bytes()
	}
	return parts, rows.Err()
}

// writeNamed writes the object that a row has as its data, with the row's id in it. Data that are no object are written as they
// are, and refused by who reads them.
func writeNamed(w *bytes.Buffer, id string, data []byte) {
	data = bytes.TrimSpace(data)
	if len(data) < 2 || data[0] != '{' {
		w.WriteString("null")
		return
	}
	w.WriteString(`{"id":` + quote(id))
	if rest := bytes.TrimSpace(data[1:]); rest[0] != '}' {
		w.WriteByte(',')
	}
	for _, b := range data[1:] { // a message is one line
		if b == '\n' || b == '\r' {
			b = ' '
		}
		w.WriteByte(b)
	}
}

// quote returns a text as JSON.
func quote(text string) string {
	b, err := jsontext.AppendQuote(nil, text)
	if err != nil { // it is not UTF-8
		return strconv.QuoteToASCII("")
	}
	return string(b)
}

// sessions makes sessions of exports. Sub-agents' sessions are threads of the
// session that started them. Of several exports of one session the one with the
// most calls counts.
func sessions(opts *traces.Options, files []*export) []*assembly.Session {
	files = flat(files)
	best := map[string]*export{}
	for _, x := range files {
		x.Speaks(x.ID)
		x.Speaks(x.Parent)
		if old := best[x.ID]; x.ID != "" && (old == nil || len(x.thread.Calls) > len(old.thread.Calls)) {
			best[x.ID] = x
		}
	}
	made := map[string]*assembly.Session{}
	members := map[*assembly.Session][]*export{}
	var list []*assembly.Session
	for _, x := range files {
		if x.ID == "" {
			continue
		}
		if b := best[x.ID]; b != x {
			x.Problems.Add(x.Name, 0, "another export of session %s has as many calls or more; %s is read", x.ID, b.Name)
			continue
		}
		x.Loose(x.loose)
		root := x.root(best)
		s := made[root.ID]
		if s == nil {
			s = root.session(opts)
			made[root.ID] = s
			list = append(list, s)
		}
		x.join(s)
		members[s] = append(members[s], x)
	}
	for _, s := range list { // the main thread first
		for _, x := range members[s] {
			x.link(best[x.Parent], members[s])
		}
		slices.SortStableFunc(s.Threads, func(a, b *assembly.Thread) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return list
}

// flat returns exports, with the sessions of stores in the place of these.
func flat(files []*export) (list []*export) {
	for _, x := range files {
		if x.within == nil {
			list = append(list, x)
		}
		list = append(list, x.within...)
	}
	return list
}

// root returns the export of the session that x belongs to.
func (x *export) root(all map[string]*export) *export {
	for range len(all) {
		up := all[x.Parent]
		if up == nil {
			break
		}
		x = up
	}
	return x
}

// session makes the session of a root.
func (x *export) session(opts *traces.Options) *assembly.Session {
	s := &assembly.Session{
		Format: &assembly.Format{Agent: Agent, Rates: opts.Rates, Exact: true, Onward: true},
		ID:     x.ID, Project: x.Directory,
		Start: assembly.Millis(x.Time.Created), Problems: assembly.Problems{Limit: opts.MaxProblems},
	}
	if x.Version != "" {
		s.Versions = []string{x.Version}
	}
	return s
}

// link finds the task that started a sub-agent: in the export of its parent,
// else in the first export of the session that names it.
func (x *export) link(parent *export, members []*export) {
	if x.thread.Kind != traces.ThreadAgent {
		return
	}
	if parent != nil {
		members = append([]*export{parent}, members...)
	}
	for _, up := range members {
		if d, ok := up.tasks[x.ID]; ok {
			x.thread.Starter = d
			return
		}
	}
}

// join adds a thread to its session.
func (x *export) join(s *assembly.Session) {
	if !slices.Contains(s.Files, x.File) { // of a store
		s.Files = append(s.Files, x.File)
	}
	s.Own(x.File)
	s.End, s.LoggedUSD = max(s.End, x.end), s.LoggedUSD+x.usd
	s.Threads = append(s.Threads, x.thread)
}

// texts reads the texts of exports again.
func texts(text []byte) (list []traces.Text) {
	for doc := range bytes.SplitSeq(text, []byte(sqlite.Between)) {
		list = append(list, textsOf(doc)...)
	}
	return list
}

// textsOf reads the texts of an export again.
func textsOf(text []byte) (list []traces.Text) {
	var x info
	f, n := assembly.Again(), 0
	_ = eachMessage(text, &x, func(v []byte, _ int) error { // as far as it is readable
		m, err := messageOf(v, f)
		if err != nil {
			return nil
		}
		list = append(list, assembly.TextsOf(userBlocks(f.Maker, m))...)
		list = append(list, assembly.TextsOf(readAnswer(f.Maker, m, x.ID+strconv.Itoa(n)))...)
		n++
		return nil
	})
	return list
}
