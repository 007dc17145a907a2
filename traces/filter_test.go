package traces

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// zone is an hour and a half behind UTC, so that a local day is not one of UTC.
var zone = time.FixedZone("XST", -90*60)

// at returns a time of 2026 in UTC, as unix ns.
func at(t *testing.T, text string) int64 {
	t.Helper()
	v, err := time.Parse(time.DateTime, "2026-"+text)
	if err != nil {
		t.Fatal(err)
	}
	return v.UnixNano()
}

// session makes a session that begins at its first call.
func session(t *testing.T, id, project, model string, calls ...string) *Session {
	t.Helper()
	s := &Session{ID: id, Agent: "claude-code", Project: project, Models: []string{model}, Threads: make([]Thread, 1)}
	for _, c := range calls {
		s.Threads[0].Rounds = append(s.Threads[0].Rounds, Round{At: at(t, c)})
	}
	if len(calls) > 0 {
		s.Start, s.End = at(t, calls[0]), at(t, calls[len(calls)-1])
	}
	return s
}

func TestFilterTextPeriod(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, zone) }
	for _, tc := range []struct {
		since, until string
		from, to     time.Time
	}{
		{"", "", time.Time{}, time.Time{}},
		{"2026-03-01", "", day(1), time.Time{}},
		{"2026-03-01", "2026-03-01", day(1), day(2)}, // a day as the end belongs to the period
		{"2026-03-01T10:00:00+02:00", "2026-03-01T09:00:00Z", time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)},
		{"7d", "36h", now.Add(-7 * 24 * time.Hour), now.Add(-36 * time.Hour)},
		{"1d12h", "90m", now.Add(-36 * time.Hour), now.Add(-90 * time.Minute)},
	} {
		f, err := FilterText{Since: tc.since, Until: tc.until}.Parse(now, zone)
		if err != nil || !f.Since.Equal(tc.from) || !f.Until.Equal(tc.to) {
			t.Errorf("%s … %s: %v … %v, %v; want %v … %v", tc.since, tc.until, f.Since, f.Until, err, tc.from, tc.to)
		}
	}
}

// In a zone that changes to summer time a day of the change has 23 hours.
func TestFilterTextSummerTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	f, err := FilterText{Since: "2026-03-29", Until: "2026-03-29"}.Parse(time.Now(), berlin)
	if d := f.Until.Sub(f.Since); err != nil || d != 23*time.Hour {
		t.Errorf("29 March 2026 in Berlin has %v, %v; want 23 h", d, err)
	}
}

// All that is wrong is said at once.
func TestFilterTextErrors(t *testing.T) {
	_, err := FilterText{
		Since: "yesterday", Until: "-3h",
		Projects: []string{"a[", ""}, Models: []string{"[]"}, Agents: []string{""},
	}.Parse(time.Now(), time.UTC)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`since "yesterday"`, `until "-3h"`, `pattern "a["`, `pattern "[]"`, "project: no name", "agent: no name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	for _, text := range []string{"2026-02-30", "2026-3-1", "7", "d", "0d", "0h", "7dd", "1d-2h", "+1h", "-1d", "99999999999999d", "7 d", "2026-03-01T10:00:00", "26/03/01"} {
		if _, err := (FilterText{Since: text}).Parse(time.Now(), time.UTC); err == nil {
			t.Errorf("--since %q is taken", text)
		}
	}
	for _, tc := range [][2]string{{"2026-03-02", "2026-03-01"}, {"1d", "2d"}, {"1d", "1d"}} {
		_, err := FilterText{Since: tc[0], Until: tc[1]}.Parse(time.Now(), time.UTC)
		if err == nil || !strings.Contains(err.Error(), "the period is empty") {
			t.Errorf("%v: %v, want an empty period", tc, err)
		}
	}
}

func TestFilterMatch(t *testing.T) {
	s := session(t, "s", "/home/me/src/web-shop", "claude-opus-4-6", "03-02 10:00:00", "03-03 10:00:00")
	s.Models = append(s.Models, "claude-haiku-4-5", "never-called")
	s.Threads = append(s.Threads, Thread{Rounds: []Round{{Model: 1}}})
	day := func(d, h int) time.Time { return time.Date(2026, 3, d, h, 0, 0, 0, time.UTC) }
	for _, tc := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Since: day(2, 10)}, true}, // the first moment belongs to the period
		{Filter{Since: day(2, 11)}, false},
		{Filter{Until: day(2, 10)}, false}, // the end does not
		{Filter{Until: day(2, 11)}, true},
		{Filter{Since: day(2, 0), Until: day(3, 0)}, true},
		{Filter{Projects: []string{"web"}}, true},
		{Filter{Projects: []string{"src/web"}}, true},
		{Filter{Projects: []string{`src\web`}}, true},
		{Filter{Projects: []string{"Web"}}, false},
		{Filter{Projects: []string{"web-*"}}, true}, // the end behind a slash
		{Filter{Projects: []string{"src/*"}}, true},
		{Filter{Projects: []string{"/home/*shop"}}, true}, // a star stands for slashes too
		{Filter{Projects: []string{"*/me"}}, false},
		{Filter{Projects: []string{"b-*"}}, false},
		{Filter{Projects: []string{"api", "shop"}}, true},
		{Filter{Models: []string{"claude-opus-4-6"}}, true},
		{Filter{Models: []string{"opus"}}, true},   // a part of the name
		{Filter{Models: []string{"opus*"}}, false}, // a pattern is of the whole name
		{Filter{Models: []string{"*opus*"}}, true},
		{Filter{Models: []string{"claude-haiku-?-5"}}, true},
		{Filter{Models: []string{"never*"}}, false}, // no call went to it
		{Filter{Agents: []string{"claude-code"}}, true},
		{Filter{Agents: []string{"codex"}}, false},
		{Filter{Agents: []string{"codex", "claude-code"}, Projects: []string{"api"}}, false},
	} {
		if got := tc.f.Match(s); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.f, got, tc.want)
		}
	}
	undated := session(t, "u", "/p", "m")
	if f := (Filter{Until: day(9, 0)}); f.Match(undated) {
		t.Error("a session without a time is in a period")
	}
}

// Six sessions around 2–3 March: what is chosen, and what each field removes.
func TestSelect(t *testing.T) {
	sessions := []*Session{
		session(t, "before-0", "/a", "opus", "03-01 10:00:00"),
		session(t, "earlier-", "/a", "opus", "03-01 23:00:00", "03-02 01:00:00"),
		session(t, "within-0", "/a", "opus", "03-02 10:00:00", "03-03 10:00:00"),
		session(t, "later-00", "/a", "opus", "03-03 23:00:00", "03-04 01:00:00"),
		session(t, "other-00", "/b", "haiku", "03-02 10:00:00"),
		session(t, "undated-", "/a", "opus"),
	}
	sessions[2].Models = []string{"opus", "haiku"}
	sessions[2].Threads[0].Rounds[1].Model = 1
	f, err := FilterText{Since: "2026-03-02", Until: "2026-03-03", Projects: []string{"a"}, Models: []string{"op*"}}.Parse(time.Now(), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	sel := f.Select(sessions)
	if err := sel.Err(); err != nil {
		t.Error(err)
	}
	want := []string{
		"filter: since 2026-03-02 UTC, before 2026-03-04 UTC, project a, model op*: 2 of 6 sessions, whole if they begin then",
		"1 session without a time left out",
	}
	if got := sel.Remarks(); !slices.Equal(got, want) {
		t.Errorf("remarks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, n := range []int{3, 1, 1, 2} { // before, earlier, undated; undated; other; other and undated, which has no calls
		if sel.Removed[i].Sessions != n {
			t.Errorf("%s removes %d, want %d", sel.Removed[i].Condition, sel.Removed[i].Sessions, n)
		}
	}
}

// A filter that leaves nothing says what each field removed, and what there is
// in the place of a name that nothing has.
func TestSelectNothing(t *testing.T) {
	sessions := []*Session{
		session(t, "1", "/a", "opus", "03-01 10:00:00"),
		session(t, "2", "/b", "haiku", "03-02 10:00:00"),
	}
	f := Filter{Since: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Projects: []string{"a"}, Models: []string{"sonnet"}}
	sel := f.Select(sessions)
	err := sel.Err()
	const want = "no session passes the filter: of 2 sessions, since 2026-03-02 UTC removes 1; project a removes 1; model sonnet removes 2 (known: haiku, opus)"
	if !errors.Is(err, ErrNothingLeft) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	none := (&Filter{}).Select(sessions)
	if none.Err() != nil || none.Remarks() != nil || len(none.Sessions) != 2 {
		t.Errorf("an empty filter: %+v", none)
	}
}

// A period of calls takes the sessions that it takes when their bodies are in memory, also of those whose bodies are
// elsewhere; these are read only if the period lies between the first and the last call.
func TestByCallWithoutBody(t *testing.T) {
	whole := session(t, "1", "/a", "m", "03-01 10:00:00", "03-04 10:00:00", "03-09 10:00:00")
	undated := &Session{ID: "2", Models: []string{"m"}, Threads: []Thread{{Rounds: make([]Round, 2)}},
		Start: whole.Start, End: whole.End}
	day := func(d int) time.Time {
		if d == 0 {
			return time.Time{}
		}
		return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC)
	}
	for _, tc := range []struct {
		since, until int // days of March, 0 for no bound
		taken, read  bool
	}{
		{0, 1, false, false},
		{0, 2, true, false},
		{1, 2, true, false},
		{2, 4, false, true},
		{2, 5, true, true},
		{5, 0, true, false},
		{9, 10, true, false},
		{10, 0, false, false},
	} {
		f := Filter{Since: day(tc.since), Until: day(tc.until), ByCall: true}
		for _, s := range []*Session{whole, undated} {
			read := false
			head := s.Head()
			apart := head.Without(func() (*Session, error) { read = true; return s, nil })
			taken, wantRead := tc.taken && s == whole, tc.read && s == whole
			if f.Match(s) != taken || f.Match(apart) != taken || read != wantRead {
				t.Errorf("session %s, %s: taken %v, without its body %v, which was read: %v; want %v, %v, %v",
					s.ID, &f, f.Match(s), f.Match(apart), read, taken, taken, wantRead)
			}
		}
	}
	gone := whole.Head()
	lost := gone.Without(func() (*Session, error) { return nil, errors.New("gone") })
	if f := (Filter{Since: day(2), Until: day(3), ByCall: true}); !f.Match(lost) {
		t.Error("a session that cannot be read is left out before anybody can say so")
	}
}

// Counts of a corpus are of the sessions left and of what belongs to none.
func TestFilterApply(t *testing.T) {
	a, b := session(t, "1", "/a", "m", "03-01 10:00:00"), session(t, "2", "/b", "m", "03-01 10:00:00")
	a.Quality = Quality{Lines: 10, BadLines: 1, Problems: 2, Repeated: 3}
	b.Quality = Quality{Lines: 20, BadLines: 4, Problems: 5, Repeated: 6}
	c := &Corpus{Sessions: []*Session{a, b}, Lines: 37, BadLines: 6, NumProblems: 8, Repeated: 9}
	f := Filter{Projects: []string{"b"}}
	sel := f.Apply(c)
	if len(c.Sessions) != 1 || c.Lines != 27 || c.BadLines != 5 || c.NumProblems != 6 || c.Repeated != 6 || sel.Of != 2 {
		t.Errorf("%d sessions, lines %d, bad %d, problems %d, repeated %d; want 1, 27, 5, 6, 6",
			len(c.Sessions), c.Lines, c.BadLines, c.NumProblems, c.Repeated)
	}
}

// Whatever is taken as a bound is a time; nothing makes it fail otherwise.
func FuzzFilterText(f *testing.F) {
	for _, s := range []string{"2026-03-01", "7d", "1d12h", "2026-03-01T10:00:00Z", "-1h", "9999999d"} {
		f.Add(s, "a*", "b[")
	}
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, since, project, model string) {
		filter, err := FilterText{Since: since, Projects: []string{project}, Models: []string{model}}.Parse(now, zone)
		if err != nil {
			return
		}
		if since != "" && filter.Since.IsZero() && !strings.HasPrefix(since, "0001-01-01") {
			t.Errorf("since %q is taken and says nothing", since)
		}
		filter.Match(&Session{Project: project, Models: []string{model}, Threads: []Thread{{Rounds: make([]Round, 1)}}})
	})
}
