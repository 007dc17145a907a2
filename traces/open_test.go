package traces

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func names(in *Inputs, dir string) []string {
	var list []string
	for _, f := range in.Files {
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(f.Name, filepath.ToSlash(dir)), "/"))
	}
	return list
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.jsonl", "a/x.jsonl.gz", "a/b/y.jsonl.zst", "a/z.zst", "a/notes.txt", "a/c.txt"} {
		write(t, filepath.Join(dir, name), []byte("{}\n"))
	}
	want := []string{"a/b/y.jsonl.zst", "a/x.jsonl.gz", "a/z.zst", "b.jsonl"}
	for _, paths := range [][]string{
		{dir},
		{dir, dir},
		{filepath.Join(dir, "b.jsonl"), dir},
		{filepath.Join(dir, "a"), dir, filepath.Join(dir, "a", "b")},
	} {
		in, err := Find(t.Context(), Options{}, paths...)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(in, dir); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %v, want %v", paths, got, want)
		}
	}
	// A file that is named is taken whatever its ending.
	in, err := Find(t.Context(), Options{}, filepath.Join(dir, "a", "notes.txt"))
	if err != nil || len(in.Files) != 1 {
		t.Errorf("named file: %v %v", in, err)
	}
}

func TestFindFollowsLinksOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real", "a.jsonl"), []byte("{}\n"))
	for link, target := range map[string]string{"real/loop": "..", "again": "real", "gone": "nowhere", "z.jsonl": "real/a.jsonl"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	in, err := Find(t.Context(), Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Files) != 1 {
		t.Errorf("files %v, want one", names(in, dir))
	}
	gone := filepath.Join(dir, "gone")
	if len(in.Problems) != 1 || in.Problems[0].File != gone || !strings.HasPrefix(in.Problems[0].Text, "link cannot be followed: ") || in.Dangling != 1 {
		t.Errorf("problems %v, want the link that leads nowhere; %d counted", in.Problems, in.Dangling)
	}
	only := filepath.Join(dir, "empty")
	if err := os.Mkdir(only, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(only, "x.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), Options{}, only); !errors.Is(err, ErrNoSessions) || !strings.Contains(err.Error(), "x.jsonl: link cannot be followed") {
		t.Errorf("a folder with nothing but a link that leads nowhere: %v", err)
	}
}

func TestFindErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "notes.txt"), nil)
	_, err := Find(t.Context(), Options{}, dir)
	if !errors.Is(err, ErrNoSessions) || !strings.Contains(err.Error(), dir+": no sessions: looked for files ending in .jsonl, .jsonl.gz, .jsonl.zst, .zst, .zstd, .json") {
		t.Errorf("folder without sessions: %v", err)
	}
	if _, err := Find(t.Context(), Options{}, filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing path: %v", err)
	}
	if _, err := Find(t.Context(), Options{}); err == nil {
		t.Error("no path is no error")
	}
	if _, err := Find(t.Context(), Options{}, "-"); err == nil {
		t.Error("standard input that is not there is no error")
	}
	if _, err := FindFS(fstest.MapFS{"a.txt": {}}); !errors.Is(err, ErrNoSessions) {
		t.Errorf("file system without sessions: %v", err)
	}
}

func TestUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("root can read everything, and Windows has no such permissions")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), []byte("{}\n"))
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0); err != nil {
		t.Fatal(err)
	}
	in, err := Find(t.Context(), Options{}, dir)
	if err != nil || len(in.Files) != 1 || len(in.Problems) != 1 || in.Problems[0].File != locked {
		t.Errorf("%+v %v, want one file and one problem", in, err)
	}
}

func TestOpenDecompresses(t *testing.T) {
	text := strings.Repeat("line of a transcript\n", 100_000)
	members := append(gzipped(t, text[:1000*21]), gzipped(t, text[1000*21:])...)
	for name, stored := range map[string][]byte{
		"plain": []byte(text), "gzip": gzipped(t, text), "gzip members": members, "zstd": zstded(t, text),
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl") // the bytes tell, not the name
		write(t, path, stored)
		got, err := readInput(t, path)
		if err != nil || got != text {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(text))
		}
	}
}

func readInput(t *testing.T, path string) (string, error) {
	t.Helper()
	in, err := Find(t.Context(), Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := in.Files[0].Open()
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	if cerr := r.Close(); cerr != nil {
		t.Error(cerr)
	}
	return string(b), err
}

func TestTornGzip(t *testing.T) {
	text := strings.Repeat("line of a transcript\n", 100_000)
	z := gzipped(t, text)
	path := filepath.Join(t.TempDir(), "x.jsonl.gz")
	write(t, path, z[:len(z)/2])
	got, err := readInput(t, path)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) == 0 || !strings.HasPrefix(text, got) {
		t.Errorf("%d bytes, %v; want what was written and an unexpected end", len(got), err)
	}
}

// A decoder that met a torn file, or was left amid one, reads the next file as a new one does.
func TestDecodersAreUsedAgain(t *testing.T) {
	text := strings.Repeat("line of a transcript\n", 100_000)
	whole, torn := filepath.Join(t.TempDir(), "x.zst"), filepath.Join(t.TempDir(), "y.zst")
	z := zstded(t, text)
	write(t, whole, z)
	write(t, torn, z[:len(z)/2])
	in, err := Find(t.Context(), Options{}, whole)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := readInput(t, torn); err == nil {
			t.Error("a torn file has no error")
		}
		if head, err := in.Files[0].Head(10); err != nil || string(head) != text[:10] {
			t.Errorf("head %q, %v", head, err)
		}
		if got, err := readInput(t, whole); err != nil || got != text {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(text))
		}
	}
}

func TestCloseBeforeTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl.gz")
	write(t, path, gzipped(t, strings.Repeat("line of a transcript\n", 1_000_000)))
	in, err := Find(t.Context(), Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := in.Files[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestStdinIsSpooledUntilClose(t *testing.T) {
	in, err := Find(t.Context(), Options{Stdin: strings.NewReader("one\ntwo\n")}, "-", "-")
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Files) != 1 || in.Files[0].Name != "-" {
		t.Fatalf("files %v", in.Files)
	}
	for range 2 { // it can be read again
		r, err := in.Files[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != "one\ntwo\n" {
			t.Errorf("%q %v", b, err)
		}
		r.Close()
	}
	spool := in.spool.Name()
	if _, err := os.Stat(spool); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the spool has a name while it is read, and stays behind a kill: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(spool); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("spool is left behind: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// Files beside recordings that may hold more recordings are counted by kind.
func TestPassedFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"a.jsonl", "b.JSONL", "c.ndjson", "d.jsonl.bak", "e.jsonl.xz", "f.bz2", "g.zip", "h.zip", "i.tar.gz", "notes.txt", "j.jsonl.gz",
		"k.jsonl.1", "k.jsonl.12", "k.jsonl.13.gz", "l.json.2", "m.1",
	} {
		write(t, filepath.Join(dir, name), []byte("{}\n"))
	}
	in, err := Find(t.Context(), Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want := "files not read: 1 .JSONL, 1 .bz2, 1 .json.N, 1 .jsonl.bak, 1 .ndjson, 1 .tar.gz, 1 .xz, 2 .zip; unpack them, or name files of JSON lines .jsonl"
	if got := in.PassedText(); len(in.Files) != 5 || got != want {
		t.Errorf("%d files, %q; want 5, %q", len(in.Files), got, want)
	}
}

// statted counts how often the sizes of files are asked for.
type statted struct {
	fs.FS
	n *int
}

type countedFile struct {
	fs.File
	n *int
}

func (s statted) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return countedFile{f, s.n}, err
}

func (c countedFile) Stat() (fs.FileInfo, error) {
	*c.n++
	return c.File.Stat()
}

// A file that was packed with a dictionary, which nobody has, is unread from its first byte; its text is none.
func TestFilePackedWithADictionaryIsUnread(t *testing.T) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(7, bytes.Repeat([]byte("what a dictionary has "), 50)))
	if err != nil {
		t.Fatal(err)
	}
	packed := w.EncodeAll(bytes.Repeat([]byte("a line of text\n"), 1000), nil)
	in := Input{Name: "a.zst", path: "a.zst", fsys: fstest.MapFS{"a.zst": {Data: packed}}}
	r, err := in.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "nothing of the file's "+strconv.Itoa(len(packed))+" bytes is read") {
		t.Errorf("a file packed with a dictionary: %v", err)
	}
}

// The guard at packed bombs asks for the size of a file once: 96 MiB that gzip stores as they are are no bomb.
func TestGuardAsksOnceForTheSize(t *testing.T) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(make([]byte, 96<<20)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	asked := 0
	in := Input{Name: "a.gz", path: "a.gz", fsys: statted{fstest.MapFS{"a.gz": {Data: packed.Bytes()}}, &asked}}
	r, err := in.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); err != nil || n != 96<<20 || asked > 1 {
		t.Errorf("%d bytes, the size asked for %d times: %v; want 1", n, asked, err)
	}
}

// An edit in the middle that keeps size and time of a file changes its stamp, where the system tells when it changed a file.
func TestStampTellsAnEditThatKeepsSizeAndTime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system knows no other time")
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	text := bytes.Repeat([]byte("x"), 4*stamped)
	write(t, path, text)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	was := Input{path: path}.Stamp()
	text[2*stamped] = 'y'
	for range 100 { // the clock of a file system ticks every few milliseconds
		write(t, path, text)
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		now := Input{path: path}.Stamp()
		if now.Time != was.Time || now.Size != was.Size || now.Head != was.Head {
			t.Fatalf("%+v, was %+v", now, was)
		}
		if now != was {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the stamp is as it was")
}
