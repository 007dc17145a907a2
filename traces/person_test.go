package traces

import "testing"

// The homes of the three systems, and projects that lie in none.
func TestPerson(t *testing.T) {
	for project, want := range map[string]string{
		"/Users/ada/src/x": "/Users/ada", "/home/ada": "/home/ada", `C:\Users\Ada\git\x`: `C:\Users\Ada`, `d:\users\ada\x`: `d:\users\ada`,
		"/root/x": "/root", "/var/home/ada/x": "/var/home/ada", "/workspace/x": "", "/home/": "", "": "", "p-1f2e": "", "/rooted": "",
	} {
		if got := (&Session{Project: project}).Person(); got != want {
			t.Errorf("%q: %q, want %q", project, got, want)
		}
	}
}
