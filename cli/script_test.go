package cli_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"heddle/cli"
	"heddle/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what is got into the scripts of testdata")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"heddle": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the scripts of testdata/script. Beside the usual commands they
// have:
//
//	mask FILE           FILE without what differs from run to run, as masked
//	json FILE FIELD...  each line of FILE is an object with these fields
//	picture FILE...     each FILE is a picture
//	status N heddle...  heddle's exit status is N, and an error is one line
func TestScripts(t *testing.T) {
	shared, _ := testenv.Shared(t, "data", "fabrics")
	check, _ := testenv.Shared(t, "tools", "check-mft.py")
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mask": mask, "json": jsonLines, "picture": pictures, "status": status,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("FABRICS", shared)
			simName(env)
			env.Setenv("CHECK_MFT", check)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // a second for each command under -race
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "fabrics":
				return shared != "", nil
			case "check-mft":
				return check != "", nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

// simName makes SIM a name of sockets that no other script uses. Those that are
// files lie where the script runs, as a path of one must not be long.
func simName(env *testscript.Env) {
	env.Setenv("SIM", fmt.Sprintf("heddle-%d-%s", os.Getpid(), filepath.Base(env.WorkDir)))
	env.Setenv("XDG_RUNTIME_DIR", ".")
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N heddle ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	lines := strings.Count(ts.ReadFile("stderr"), "\n")
	if got != want || (got != 0) != (lines == 1) {
		ts.Fatalf("status %d and %d lines of errors", got, lines)
	}
}

// times are what differs from run to run: numbers of one digit behind the point
// in tables, fields of JSON, the spaces that align them.
var times = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(\w+Ms|peakBytes|ours|peer|ratio|faster)":[-+0-9.e]+`), `"$1":0`},
	{regexp.MustCompile(`\b\d+\.\d(x?)(\s)`), "T$1$2"},
	{regexp.MustCompile(`\b\d+\.\d ms`), "T ms"},
	{regexp.MustCompile(`(?m)^ +`), ""},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask FILE")
	}
	s := ts.ReadFile(args[0])
	for _, t := range times {
		s = t.pattern.ReplaceAllString(s, t.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs("masked"), []byte(s), 0o666))
}

func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json FILE FIELD...")
	}
	d := json.NewDecoder(bytes.NewBufferString(ts.ReadFile(args[0])))
	for n := 0; ; n++ {
		var object map[string]any
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) && n > 0 {
			return
		}
		ts.Check(err)
		for _, field := range args[1:] {
			if _, ok := object[field]; !ok {
				ts.Fatalf("object %d of %s has no field %s", n, args[0], field)
			}
		}
	}
}

func pictures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: picture FILE...")
	}
	for _, name := range args {
		data := []byte(ts.ReadFile(name))
		if filepath.Ext(name) == ".png" {
			_, err := png.Decode(bytes.NewReader(data))
			ts.Check(err)
			continue
		}
		ts.Check(wellFormed(data))
	}
}

func wellFormed(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	for n := 0; ; n++ {
		_, err := d.Token()
		if errors.Is(err, io.EOF) && n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
