package opensm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/testenv"
)

const golden = "testdata/opensm-3.3.23.conf"

func readConfig(t *testing.T, text string) (Config, Report) {
	t.Helper()
	c, report, err := ReadConfig(strings.NewReader(text), "o.conf")
	if err != nil {
		t.Fatal(err)
	}
	return c, report
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDefaults reads what OpenSM writes as its defaults: they are ours, each
// option is one of OpenSM's, and nothing is lost but what is said.
func TestDefaults(t *testing.T) {
	c, report := readConfig(t, readFile(t, golden))
	if diff := cmp.Diff(DefaultConfig(), c); diff != "" {
		t.Errorf("(-ours +OpenSM):\n%s", diff)
	}
	for option := range new(Config).options() {
		if report.Set[option] == 0 {
			t.Errorf("OpenSM has no option %s", option)
		}
	}
	want := Report{Set: report.Set, Unsupported: []Fault{{"o.conf", 29, `part_enforce "both" has no effect`}}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGoldenIsOpenSMs lets OpenSM write its defaults once more.
func TestGoldenIsOpenSMs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "opensm.conf")
	if out, err := exec.CommandContext(t.Context(), testenv.Peer(t, "opensm"), "-c", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(optionLines(t, readFile(t, file)), optionLines(t, readFile(t, golden))); diff != "" {
		t.Errorf("(-OpenSM +golden):\n%s", diff)
	}
}

func optionLines(t *testing.T, text string) (list []string) {
	t.Helper()
	err := eachLine(strings.NewReader(text), func(_ int, line string) { list = append(list, line) })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestConfig(t *testing.T) {
	c, report := readConfig(t, strings.Join([]string{
		"\ufeff# a comment",
		"guid 0x0002c90300001234",
		"\tm_key 0xffffffffffffffff  # all",
		"routing_engine  ftree,updn minhop",
		"root_guid_file /etc/opensm/roots of mine.conf",
		"sweep_interval 0\r",
		"transaction_timeout 0x64",
		"sm_priority 15",
		"qos yes",
		"log_file (null)",
		"console socket",
		"sm_priority 14",
	}, "\n"))
	want := DefaultConfig()
	want.GUID, want.MKey, want.Engines, want.RootGUIDs = 0x0002c90300001234, 1<<64-1, []string{"ftree", "updn", "minhop"}, "/etc/opensm/roots of mine.conf"
	want.SweepInterval, want.TransactionTimeout, want.Priority, want.QoS, want.LogFile, want.Console = 0, 100*time.Millisecond, 14, true, "", "socket"
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	lines := map[string]int{
		"guid": 2, "m_key": 3, "routing_engine": 4, "root_guid_file": 5, "sweep_interval": 6,
		"transaction_timeout": 7, "sm_priority": 12, "qos": 9, "log_file": 10, "console": 11,
	}
	if diff := cmp.Diff(Report{Set: lines}, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfigFaults: what is not used is named with its line, and the rest is
// used.
func TestConfigFaults(t *testing.T) {
	c, report := readConfig(t, strings.Join([]string{
		"lmc 8", "sm_priority -1", "guid x", "qos perhaps", "console telnet", "sweep_interval 10s", "sweep_interval", "m_key 0x10000000000000000",
		"perfmgr TRUE", "part_enforce off", "perfmgr_sweep_time_s 10", "cc_key 5", "lash_start_vl 1", "hop_weights_file /x", "sa_db_file (null)",
		"sm_prioritty 3", "LMC 3", "sm_sl 1",
	}, "\n"))
	want := DefaultConfig()
	want.SMSL = 1
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	texts := func(list []Fault) (all []string) {
		for _, f := range list {
			all = append(all, f.Error())
		}
		return all
	}
	faults := []string{
		`o.conf:1: lmc "8": want a number from 0 to 7`, `o.conf:2: sm_priority "-1": want a number from 0 to 15`,
		`o.conf:3: guid "x": GUID "x" is malformed: want 1 to 16 hexadecimal digits, with or without 0x, or 16 in equal groups split by : or -`,
		`o.conf:4: qos "perhaps": want TRUE or FALSE`, `o.conf:5: console "telnet": want one of off, local, loopback, socket`,
		`o.conf:6: sweep_interval "10s": want a number from 0 to 2147483647`, `o.conf:7: sweep_interval "": want a number from 0 to 2147483647`,
		`o.conf:8: m_key "0x10000000000000000": want a number from 0 to 18446744073709551615`,
	}
	if diff := cmp.Diff(faults, texts(report.Faults)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	unsupported := []string{`o.conf:9: perfmgr "TRUE" has no effect`, `o.conf:13: lash_start_vl "1" has no effect`, `o.conf:14: hop_weights_file "/x" has no effect`}
	if diff := cmp.Diff(unsupported, texts(report.Unsupported)); diff != "" {
		t.Errorf("unsupported (-want +got):\n%s", diff)
	}
	unknown := []string{`o.conf:16: "sm_prioritty" is no option of OpenSM`, `o.conf:17: "LMC" is no option of OpenSM`}
	if diff := cmp.Diff(unknown, texts(report.Unknown)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add("guid 0x0002c90300001234\nlmc 3 # x\nrouting_engine a, b\nqos\n\n#\nx y")
	f.Fuzz(func(t *testing.T, text string) {
		c, report, err := ReadConfig(strings.NewReader(text), "")
		lines := strings.Count(text, "\n") + 1
		for _, list := range [][]Fault{report.Faults, report.Unsupported, report.Unknown} {
			for _, fault := range list {
				if fault.Line < 1 || fault.Line > lines || err != nil {
					t.Errorf("%v of %d lines, %v", fault, lines, err)
				}
			}
		}
		if c.LMC > 7 || c.Priority > 15 || c.SweepInterval < 0 || c.MKeyProtect > 3 {
			t.Errorf("%+v", c)
		}
	})
}
