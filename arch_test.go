package heddle_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "heddle"

// imports is the import table: what each package of the module may import, and
// with it what those may import. all stands for every package below cli.
// A package that has no row may not exist, except that what lies in the
// internal directory of a package, or below cli, belongs to that package.
var imports = map[string][]string{
	module:                 {},
	"ib":                   {},
	"packet":               {"ib"},
	"mad":                  {"ib"},
	"fabric":               {"ib"},
	"fabric/format":        {"fabric"},
	"fabric/topology":      {"fabric"},
	"fabric/pattern":       {"fabric"},
	"route":                {"ib", "fabric"},
	"route/unicast":        {"route"},
	"route/multicast":      {"route"},
	"route/format":         {"route"},
	"ibsim":                {"ib", "mad"},
	"umad":                 {"ib", "mad", "ibsim"},
	"umad/umadtest":        {"umad"},
	"sa":                   {"ib", "mad", "umad"},
	"sm":                   {"ib", "mad", "fabric", "route", "umad", "sm/group", "sm/admin", "sm/subnet", "sm/plan", "sm/multicast", "sm/partition", "sm/store", "sm/replica", "sm/election", "sm/opensm"},
	"sm/subnet":            {"ib", "mad", "fabric", "umad"},
	"sm/plan":              {"ib", "mad", "fabric", "route", "sm/subnet", "sm/partition"},
	"sm/multicast":         {"ib", "mad", "fabric", "route", "sm/subnet", "sm/plan", "sm/group"},
	"sm/partition":         {"ib"},
	"sm/opensm":            {"ib", "mad", "fabric", "sm/subnet", "sm/plan"},
	"sm/election":          {"ib", "mad"},
	"sm/store":             {"ib", "sm/group"},
	"sm/replica":           {"ib", "sm/group", "sm/store"},
	"sm/group":             {"ib"},
	"sm/admin":             {"ib", "mad", "sm/group"},
	"verbs":                {"ib"},
	"verbs/verbstest":      {"verbs"},
	"verbs/internal/queue": {"verbs"},
	"verbs/sim":            {"verbs", "verbs/internal/queue"},
	"verbs/shm":            {"verbs", "verbs/internal/queue"},
	"verbs/soft":           {"verbs", "verbs/internal/queue", "packet"},
	"verbs/ibv":            {"verbs"},
	"verbs/cm":             {"ib", "verbs"},
	"channel":              {"ib", "verbs"},
	"channel/measure":      {"channel", "verbs", "verbs/sim"},
	"collective":           {"ib", "verbs", "channel"},
	"collective/member":    {"ib", "mad", "sa", "umad", "collective"},
	"emu":                  {"ib", "mad", "packet", "fabric", "ibsim", "umad", "internal/console"},
	"web":                  {"ib", "fabric"},
	"internal/console":     {},
	"internal/lab":         {all},
	"internal/peer":        {},
	"internal/testenv":     {"internal/peer"},
	"cli":                  {all, "internal/lab", "internal/peer"},
	"cmd/heddle":           {"cli"},
	"examples/broadcast":   {"channel", "verbs/shm"},
	"examples/queue":       {"channel", "verbs/shm"},
	"examples/kv":          {"channel", "verbs/shm"},
}

// testImports is what test files may import beside their package's row: the
// rows of "" for all packages, the others for the packages below a name. Tests
// may also import every package of their own first path element.
var testImports = map[string][]string{
	"":           {"internal/testenv"},
	"route":      {"fabric/topology", "fabric/pattern", "fabric/format"},
	"sm":         {"fabric/topology", "fabric/format", "umad/umadtest", "route/unicast", "route/multicast", "route/format", "emu", "sa"},
	"sa":         {"umad/umadtest"},
	"emu":        {"fabric/topology", "fabric/format", "umad/umadtest", "route/format", "route/unicast", "route/multicast"}, // to judge the tables that OpenSM wrote, and to carry data by ours
	"channel":    {"verbs/sim", "verbs/shm", "verbs/soft", "verbs/ibv", "verbs/cm"},
	"collective": {"verbs/sim", "verbs/shm", "verbs/soft"},
}

const all = "all packages"

// notInAll are the packages that the program is put together from last, or
// that belong to tests.
var notInAll = []string{module, "cli", "cmd/heddle", "examples/broadcast", "examples/queue", "examples/kv", "internal/lab", "internal/peer", "internal/testenv", "umad/umadtest", "verbs/verbstest"}

func TestImports(t *testing.T) {
	faults, err := importFaults(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

func TestImportFaultsAreFound(t *testing.T) {
	tests := []struct {
		name, file, imports string
		want                []string
	}{
		{"row", "fabric/a.go", "heddle/ib", nil},
		{"row of a row", "fabric/format/a.go", "heddle/ib", nil},
		{"standard library", "ib/a.go", "net/netip", nil},
		{"upwards", "ib/a.go", "heddle/fabric", []string{"ib/a.go: ib may not import heddle/fabric"}},
		{"sideways", "emu/a.go", "heddle/sm", []string{"emu/a.go: emu may not import heddle/sm"}},
		{"for another system", "umad/a_windows.go", "heddle/sa", []string{"umad/a_windows.go: umad may not import heddle/sa"}},
		{"internal to a row", "fabric/topology/a.go", "heddle/fabric/internal/spec", nil},
		{"from internal", "fabric/internal/spec/a.go", "heddle/route", []string{"fabric/internal/spec/a.go: fabric/internal/spec may not import heddle/route"}},
		{"own row in internal", "verbs/ibv/a.go", "heddle/verbs/internal/queue", []string{"verbs/ibv/a.go: verbs/ibv may not import heddle/verbs/internal/queue"}},
		{"below cli", "cli/plot/a.go", "heddle/sm/admin", nil},
		{"cli from below", "internal/lab/a.go", "heddle/cli", []string{"internal/lab/a.go: internal/lab may not import heddle/cli"}},
		{"test double in the program", "cli/a.go", "heddle/internal/testenv", []string{"cli/a.go: cli may not import heddle/internal/testenv"}},
		{"test", "ib/a_test.go", "heddle/internal/testenv", nil},
		{"test of route", "route/multicast/a_test.go", "heddle/fabric/topology", nil},
		{"route itself", "route/multicast/a.go", "heddle/fabric/topology", []string{"route/multicast/a.go: route/multicast may not import heddle/fabric/topology"}},
		{"test in its family", "fabric/a_test.go", "heddle/fabric/format", nil},
		{"test out of its family", "fabric/a_test.go", "heddle/route", []string{"fabric/a_test.go: fabric may not import heddle/route"}},
		{"no row", "util/a.go", "fmt", []string{"util/a.go: package util is not in the import table"}},
		{"import without a row", "cli/a.go", "heddle/util", []string{"cli/a.go: cli may not import heddle/util"}},
		{"testdata", "ib/testdata/a.go", "heddle/fabric", nil},
		{"another module", "other/a.go", "heddle/fabric", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source := fmt.Sprintf("package p\n\nimport _ %q\n", test.imports)
			fsys := fstest.MapFS{
				test.file:      {Data: []byte(source)},
				"other/go.mod": {Data: []byte("module other\n")},
			}
			got, err := importFaults(fsys)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTableNamesRows fails where a row or a test row names a package that has
// no row, such as a misspelt one.
func TestTableNamesRows(t *testing.T) {
	for _, table := range []map[string][]string{imports, testImports} {
		for pkg, names := range table {
			for _, name := range names {
				if _, ok := imports[name]; !ok && name != all {
					t.Errorf("%s may import %s, which has no row", pkg, name)
				}
			}
		}
	}
}

// importFaults holds the imports of each Go file, whatever its build tags,
// against the table.
func importFaults(fsys fs.FS) ([]string, error) {
	files, err := goFiles(fsys)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, file := range files {
		found, err := fileFaults(fsys, file)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

// goFiles lists the Go files that belong to the module.
func goFiles(fsys fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && outside(fsys, name):
			return fs.SkipDir
		case !d.IsDir() && path.Ext(name) == ".go":
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// outside tells whether a directory is not the module's: git ignores bin and
// out, and the go command passes over the others.
func outside(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if dir == "." {
		return false
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil || dir == "bin" || dir == "out" || base == "testdata" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
}

func fileFaults(fsys fs.FS, file string) ([]string, error) {
	source, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	pkg := path.Dir(file)
	if pkg == "." {
		pkg = module
	}
	if row(pkg) == "" {
		return []string{fmt.Sprintf("%s: package %s is not in the import table", file, pkg)}, nil
	}
	may := mayImport(pkg, strings.HasSuffix(file, "_test.go"))
	var faults []string
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if inModule(target) && !may(strings.TrimPrefix(target, module+"/")) {
			faults = append(faults, fmt.Sprintf("%s: %s may not import %s", file, pkg, target))
		}
	}
	return faults, nil
}

func inModule(target string) bool {
	return target == module || strings.HasPrefix(target, module+"/")
}

// row returns the row that a package belongs to, or "".
func row(pkg string) string {
	if _, ok := imports[pkg]; ok {
		return pkg
	}
	if strings.HasPrefix(pkg, "cli/") {
		return "cli"
	}
	owner, _, found := strings.Cut(pkg, "/internal/")
	if _, ok := imports[owner]; found && ok {
		return owner
	}
	return ""
}

// mayImport returns whether a package, or a test of it, may import another.
func mayImport(pkg string, isTest bool) func(target string) bool {
	rows := map[string]bool{row(pkg): true}
	allow(rows, imports[row(pkg)])
	family, _, _ := strings.Cut(pkg, "/")
	if isTest {
		allow(rows, testImports[""])
		allow(rows, testImports[family])
	}
	return func(target string) bool {
		to := row(target)
		inFamily := isTest && (to == family || strings.HasPrefix(to, family+"/"))
		return to != "" && (rows[to] || inFamily)
	}
}

// allow adds rows, and what those may import, to a set.
func allow(set map[string]bool, rows []string) {
	for _, name := range rows {
		if name == all {
			allow(set, slices.DeleteFunc(slices.Collect(maps.Keys(imports)), isNotInAll))
		} else if !set[name] {
			set[name] = true
			allow(set, imports[name])
		}
	}
}

func isNotInAll(name string) bool { return slices.Contains(notInAll, name) }
