// Package goose reads the sessions of Goose: the database in which they are, and exports (goose session export), one JSON
// document per session. Each call has its counts with the first message of its answer, and a ledger, which no export has,
// has the counts of all calls but the calls that name sessions. An export has their sum.
//
// Two things are assumed: all of the first call that no message shows counts as tools and system prompt, and writes to the cache live
// for five minutes.
package goose

import (
	"bytes"
	"context"
	"database/sql"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/sqlite"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Goose

// Describe returns what the rest of the program needs to know about Goose. It marks the last two messages of the user for models
// of Anthropic, compacts above 0.8 of the window, at a prompt alone, and asks for the summary in a request of its own, as 1.52.0 does.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "Goose", Document: document, Read: reader.Read, Texts: texts, Source: stored.Source, Markers: 2,
		Size: facts.SizeAtPrompt,
		Places: func(h *facts.Home) {
			at := facts.Place{Agent: Agent, File: "sessions.db"}
			if root := h.Getenv("GOOSE_PATH_ROOT"); root != "" {
				h.Add(at, root, "data", "sessions")
				return
			}
			h.Add(at, h.XDG("XDG_DATA_HOME", ".local", "share"), "goose", "sessions")
		},
		Settings: assembly.ShareOfWindow("GOOSE_AUTO_COMPACT_THRESHOLD", "~/.config/goose/config.yaml", "GOOSE_AUTO_COMPACT_THRESHOLD: %s", "",
			"0.3", "0.4", "0.5", "0.6", "0.7", "0.9"),
	}, 80, 0)
}

// column is of the table of messages, and of no other client's.
const column = "content_json"

// document reports whether a file is Goose's database, or an export.
func document(head []byte) bool {
	if sqlite.Has(head, column) {
		return true
	}
	names := assembly.Names(head, 1)
	return names["working_dir"] && names["extension_data"]
}

var reader = assembly.Reader[*file]{
	Name: Agent, Scan: func(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
		return scan(ctx, opts, in, nil)
	},
	ScanParts: scan,
	Sessions: func(opts *traces.Options, files []*file) []*assembly.Session {
		var all []*file
		for _, f := range files {
			if !f.store {
				all = append(all, f)
			}
			all = append(all, f.within...)
		}
		named := map[string]*file{}
		for _, f := range all {
			if o := named[f.ID]; o != nil && f.ID != "" {
				f.Problems.Add(f.Name, 0, "session %s is in %s too, and both are counted", f.ID, o.Name)
			}
			named[f.ID] = f
		}
		list := assembly.Families(Agent, opts, all)
		for _, s := range list {
			for _, f := range all {
				if slices.Contains(s.Files, f.File) {
					s.Quality.LostTokens += f.lost
				}
			}
		}
		return list
	},
}

// file is a session, or a database, whose sessions it has if they were not handed over.
type file struct {
	*assembly.Part
	store  bool
	within []*file

	ledger   []entry      // in order
	kept     bool         // it has a call of a message
	all      sums         // of all calls, as an export counts them
	sum      prompt.Usage // of the calls of messages and ledger
	lost     int64        // tokens that all has and sum lacks
	messages []message
	answer   *message        // the first message of the call under way
	said     []assembly.Step // in it
	results  []assembly.Step
}

// scan reads a file; see assembly.Reader.
func scan(ctx context.Context, opts traces.Options, in traces.Input, hand func([]*file)) (*file, error) {
	f := &file{Part: assembly.NewPart(assembly.NewFile(in.Name, opts))}
	if f.store = sqlite.Is(in); f.store {
		var err error
		f.within, err = stored.Scan(ctx, f.File, opts, in, hand)
		return f, err
	}
	text, err := f.ReadAll(ctx, opts, in)
	if err != nil || text == nil {
		return f, err
	}
	return f, f.read(text)
}

// stored is the client's database. A session is written as the client exports it, and its ledger.
var stored = sqlite.Documents[session, *file]{
	List:  list,
	Names: func(s *session) (id, parent string) { return s.ID, s.Parent },
	Write: func(ctx context.Context, store *sqlite.Store, s *session, w *bytes.Buffer) (n int, err error) {
		head, err := json.Marshal(s)
		if err != nil {
			return 0, err
		}
		w.Write(head[:len(head)-1])
		w.WriteString(",\"conversation\":[")
		n, err = write(ctx, store, w, "select json_object('id', "+s.name+", 'role', role, 'created', created_timestamp, 'content', "+valid(column)+
			", 'metadata', "+s.data+") from messages where session_id = ? order by id", s.ID)
		w.WriteString("],\"ledger\":[")
		if err == nil && s.ledger {
			_, err = write(ctx, store, w, `select json_object('model', model, 'inputTokens', input_tokens, 'outputTokens', output_tokens,
				'totalTokens', total_tokens, 'cacheReadTokens', cache_read_tokens, 'cacheWriteTokens', cache_write_tokens,
				'cost', cost, 'created', created_timestamp, 'compaction', is_compaction) from usage_ledger where session_id = ? order by id`, s.ID)
		}
		w.WriteString("]}")
		return n, err
	},
	Read: func(part *assembly.File, _ *traces.Options, text []byte) (*file, error) {
		f := &file{Part: assembly.NewPart(part)}
		return f, f.read(text)
	},
}

// session describes a session.
type session struct {
	ID     string `json:"id"`
	Dir    string `json:"working_dir"`
	Parent string `json:"parent_session_id"`
	ledger bool   // the database keeps one
	// name and data are the expressions for the id and the metadata of a message, which older databases lack.
	name, data string
}

// valid returns the expression for the JSON of a column, null where it is none.
func valid(column string) string {
	return "json(case when json_valid(" + column + ") then " + column + " else 'null' end)"
}

// list returns the sessions of a database.
func list(ctx context.Context, store *sqlite.Store) (all []session, err error) {
	has := func(table, column string) (there bool) {
		if err == nil {
			err = store.QueryRowContext(ctx, "select count(*) from pragma_table_info(?) where name = ?", table, column).Scan(&there)
		}
		return there
	}
	parent, kept := "''", session{ledger: has("usage_ledger", "id"), name: "null", data: "null"}
	if has("sessions", "parent_session_id") {
		parent = "coalesce(parent_session_id, '')"
	}
	if has("messages", "message_id") {
		kept.name = "message_id"
	}
	if has("messages", "metadata_json") {
		kept.data = valid("metadata_json")
	}
	if err != nil {
		return nil, err
	}
	rows, err := store.QueryContext(ctx, "select id, working_dir, "+parent+" from sessions order by created_at, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		s := kept
		if err := rows.Scan(&s.ID, &s.Dir, &s.Parent); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// write writes the rows of a query, each a line, as the elements of a list, and returns their number.
func write(ctx context.Context, store *sqlite.Store, w *bytes.Buffer, query, id string) (n int, err error) {
	rows, err := store.QueryContext(ctx, query, id)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var row sql.RawBytes
		if err := rows.Scan(&row); err != nil {
			return n, err
		}
		if n > 0 {
			w.WriteByte(',')
		}
		w.WriteByte('\n')
		w.Write(row)
	}
	return n, rows.Err()
}
