package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patience is how long a client may take for one prompt.
const patience = 10 * time.Minute

// record runs a client in a namespace of its own, whose only network is loopback, and leaves in folder its home and calls.json.
// It wants Linux, root, unshare and ip.
func record(ctx context.Context, r *run, clients, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	script := newScript(r.Script)
	for _, name := range slices.Sorted(maps.Keys(script.Files)) { // always in one order: clients look at the times of files
		text := script.Files[name]
		if err := put(filepath.Join(folder, "home/project", name), text, 0o755); err != nil {
			return err
		}
	}
	for name, text := range r.files() {
		if err := put(filepath.Join(folder, "home", name), text, 0o644); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", self, "-inside", r.Name, "-clients", clients)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, os.Stdout, os.Stderr
	return cmd.Run()
}

func put(name, text string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), mode)
}

// inside is the part of record that runs in the namespace, in the run's folder. It puts that folder's home where every agent
// of the experiment lives, over whatever homes the machine has, so that recordings name no path of the machine.
func inside(ctx context.Context, r *run, clients string) error {
	for _, args := range []string{
		"ip link set lo up", "mount --make-rprivate /", "mount --bind " + clients + " /srv", "mount --bind home /media",
		"mount -t tmpfs none /home", "mkdir " + home, "mount --bind /media " + home,
	} {
		f := strings.Fields(args)
		if out, err := exec.CommandContext(ctx, f[0], f[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", args, err, out)
		}
	}
	s := &server{script: newScript(r.Script), dialect: r.Client}
	if os.Getenv("BODIES") != "" {
		s.bodies = func(n int, body []byte) { _ = put(fmt.Sprintf("bodies/%05d.json", n), string(body), 0o644) }
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: s}
	defer func() { _ = web.Close() }()
	go func() { _ = web.Serve(listener) }()

	var sessions []*Thread
	for _, t := range s.script.Threads {
		if t.Prompts != nil {
			sessions = append(sessions, t)
		}
	}
	var pauses []pause
	for i := range sessions[0].Prompts { // sessions take turns
		for _, t := range sessions {
			if i >= len(t.Prompts) {
				continue
			}
			if d := time.Duration(t.Prompts[i].Pause) * time.Minute; d > 0 {
				s.pause(d)
				pauses = append(pauses, pause{time.Now(), d})
				if err := age(filepath.Join(home, logs[r.Client]), d); err != nil {
					return err
				}
			}
			if err := say(ctx, r, t, i); err != nil {
				fmt.Fprintf(os.Stderr, "%s: prompt %d: %v\n", r.Name, i+1, err)
			}
		}
	}
	if r.Client == opencode {
		if err := export(ctx, r, pauses); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, v := range map[string]any{"calls.json": s.rows, "sent.json": s.sent} {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// say gives a session its i-th prompt and waits for the end of the turn.
func say(ctx context.Context, r *run, t *Thread, i int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := r.arguments("/srv", t.Name, t.Prompts[i].Text, i)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = r.environment(), project
	out, err := os.OpenFile("out.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}

// export writes the newest session of OpenCode, which keeps them in a database, into a file, where the pauses lie between its turns: times in
// the database stay as they are, and no rule of the client depends on them.
func export(ctx context.Context, r *run, pauses []pause) error {
	bin := filepath.Join("/srv", string(opencode), packs[opencode].binary)
	ask := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Env, cmd.Dir = r.environment(), project
		return cmd.Output()
	}
	b, err := ask("session", "list", "--format", "json")
	if err != nil {
		return fmt.Errorf("opencode session list: %w", err)
	}
	var list []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		return errors.Join(err, errors.New("opencode session list: no session"))
	}
	// Into a file: what it writes to a pipe is cut where the pipe is full.
	name := filepath.Join(home, logs[opencode], "session.json")
	if err := put(name, "", 0o644); err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, bin, "export", list[0].ID)
	cmd.Env, cmd.Dir, cmd.Stdout = r.environment(), project, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("opencode export: %w", err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, apart(text, pauses), 0o644)
}

// pause is time that passes for the server and in logs, at a time of the run.
type pause struct {
	at time.Time
	by time.Duration
}

// apart returns a text in which times ahead of pauses are earlier by these.
func apart(text []byte, pauses []pause) []byte {
	return exported.ReplaceAllFunc(text, func(m []byte) []byte {
		p := exported.FindSubmatch(m)
		at, err := strconv.ParseInt(string(p[2]), 10, 64)
		if err != nil {
			return m
		}
		was := at
		for _, x := range pauses {
			if was < x.at.UnixMilli() {
				at -= x.by.Milliseconds()
			}
		}
		return append(p[1], strconv.FormatInt(at, 10)...)
	})
}

var (
	stamp  = regexp.MustCompile(`("timestamp":")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)(")`)
	millis = regexp.MustCompile(`("(?:timestamp|time)":)(\d{13})\b`)
	// exported finds times in a session that OpenCode wrote into a file, unix ms
	exported = regexp.MustCompile(`("(?:created|updated|completed|start|end)": ?)(\d{13})\b`)
)

// age makes the lines of all logs below a folder older, as if a pause lay between them and what comes next.
func age(folder string, by time.Duration) error {
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".jsonl") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		b = stamp.ReplaceAllFunc(b, func(m []byte) []byte {
			p := stamp.FindSubmatch(m)
			at, err := time.Parse(time.RFC3339Nano, string(p[2]))
			if err != nil {
				return m
			}
			return []byte(string(p[1]) + at.Add(-by).UTC().Format("2006-01-02T15:04:05.000Z") + string(p[3]))
		})
		b = millis.ReplaceAllFunc(b, func(m []byte) []byte {
			p := millis.FindSubmatch(m)
			at, err := strconv.ParseInt(string(p[2]), 10, 64)
			if err != nil {
				return m
			}
			return append(p[1], strconv.FormatInt(at-by.Milliseconds(), 10)...)
		})
		return os.WriteFile(name, b, 0o644)
	})
}
