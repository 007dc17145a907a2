package spec

import "testing"

// A file names other files from its own folder, else from the working folder. Where there is none
// in either, the error is the error for its own folder.
func TestBeside(t *testing.T) {
	files := map[string]bool{"sub/near.yaml": true, "near.yaml": true, "far.yaml": true, "up.yaml": true}
	for _, tc := range []struct{ file, name, want string }{
		{"sub/mine.yaml", "near.yaml", "sub/near.yaml"}, // in both folders
		{"sub/mine.yaml", "./near.yaml", "sub/near.yaml"},
		{"sub/mine.yaml", "../up.yaml", "up.yaml"},
		{"sub/mine.yaml", "far.yaml", "far.yaml"},
		{"sub/mine.yaml", "nowhere.yaml", "sub/nowhere.yaml"},
		{"sub/mine.yaml", "/near.yaml", "/near.yaml"},
		{"sub/mine.yaml", `""`, ""},
		{"sub/mine.yaml", "null", "null"},
		{"sub/mine.yaml", "[near.yaml]", ""},
		{"mine.yaml", "./near.yaml", "./near.yaml"},
		{"mine.yaml", "nowhere.yaml", "nowhere.yaml"},
	} {
		tree, err := Parse([]byte("file: "+tc.name), tc.file)
		if err != nil {
			t.Fatal(err)
		}
		n := Child(tree.Root, "file")
		tree.Beside(n, func(name string) bool { return files[name] })
		if n.Value != tc.want {
			t.Errorf("%s in %s: %q, want %q", tc.name, tc.file, n.Value, tc.want)
		}
	}
	new(Tree).Beside(nil, nil)
}
