package cli

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/sm"
	"heddle/sm/group"
	"heddle/sm/opensm"
	"heddle/sm/plan"
	"heddle/umad"
)

const openSMsDefaults = "../sm/opensm/testdata/opensm-3.3.23.conf"

// confOf reads an opensm.conf with these lines.
func confOf(t *testing.T, lines ...string) *confFile {
	t.Helper()
	t.Setenv("OSM_CACHE_DIR", "")
	name := filepath.Join(t.TempDir(), "o.conf")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := readConf(name)
	if err != nil {
		t.Fatal(err)
	}
	c.name = "o.conf"
	return c
}

func none(string) bool { return false }

// TestConfOptions: all options that are read have a meaning here, and each flag
// that wins over one is there.
func TestConfOptions(t *testing.T) {
	conf, err := readConf(openSMsDefaults)
	if err != nil {
		t.Fatal(err)
	}
	command := (&app{err: io.Discard}).smCommand()
	var names []string
	for _, o := range confOptions() {
		names = append(names, o.name)
		if conf.report.Set[o.name] == 0 {
			t.Errorf("%s is no option that is read", o.name)
		}
		if o.flag != "" && command.Flags().Lookup(o.flag) == nil {
			t.Errorf("%s: there is no flag --%s", o.name, o.flag)
		}
		if !reflect.TypeOf(o.value(&conf.config)).Comparable() {
			t.Errorf("%s: its value does not compare", o.name)
		}
		if (o.take == nil) != (o.advice != "") {
			t.Errorf("%s: what has no effect has an advice, and only that", o.name)
		}
	}
	for name := range conf.report.Set {
		if !slices.Contains(names, name) {
			t.Errorf("%s is read, and nobody looks at it", name)
		}
	}
}

// TestConfDefaults: what opensm -c writes changes nothing.
func TestConfDefaults(t *testing.T) {
	t.Setenv("OSM_CACHE_DIR", "")
	conf, err := readConf(openSMsDefaults)
	if err != nil {
		t.Fatal(err)
	}
	var f smFlags
	notes, err := conf.apply(func(flag string) bool { return flag == "partitions" || flag == "guid2lid" }, &f)
	if err != nil || !reflect.DeepEqual(f, smFlags{}) {
		t.Errorf("%+v, %v", f, err)
	}
	want := []string{openSMsDefaults + `:29: part_enforce "both" has no effect`}
	if diff := cmp.Diff(want, notes.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfApplies(t *testing.T) {
	conf := confOf(t, "m_key 0x11", "m_key_lease_period 3", "m_key_protection_level 1", "sm_sl 2", "subnet_timeout 19", "head_of_queue_lifetime 12",
		"leaf_head_of_queue_lifetime 13", "vl_stall_count 4", "leaf_vl_stall_count 5", "max_op_vls 2", "local_phy_errors_threshold 6",
		"overrun_errors_threshold 9", "subnet_prefix 0xfec0000000000001", "lmc 2", "lmc_esp0 TRUE", "reassign_lids TRUE", "honor_guid2lid_file TRUE",
		"partition_config_file /p", "allow_both_pkeys TRUE", "routing_engine updn", "root_guid_file /r", "consolidate_ipv6_snm_req TRUE", "sm_key 7",
		"sa_key 8", "sm_priority 9", "sminfo_polling_timeout 500", "polling_retry_number 3", "sweep_interval 0", "max_wire_smps 0",
		"transaction_timeout 300", "transaction_retries 5", "no_clients_rereg TRUE", "babbling_port_policy TRUE", "log_file /l", "log_flags 0x07",
		"dump_files_dir /d")
	f := smFlags{base: sm.Config{Ports: plan.DefaultPortRules()}}
	notes, err := conf.apply(none, &f)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	want := smFlags{base: sm.Config{Ports: plan.DefaultPortRules()}}
	p := &want.base.Ports
	p.MKey, p.MKeyLease, p.MKeyProtect, p.SL, p.Timeout, p.HOQLife, p.LeafHOQLife = 0x11, 3, 1, 2, 19, 12, 13
	p.VLStallCount, p.LeafVLStallCount, p.MaxVLs, p.PhyErrors, p.OverrunErrors, p.Prefix = 4, 5, 2, 6, 9, 0xfec0000000000001
	want.base.LIDs = plan.LIDRules{LMC: 2, LMCPort0: true, Reassign: true}
	want.base.Ask.MKey, want.base.LIDsAfterStandby, want.base.NoReregister, want.base.SAKey = 0x11, true, true, 8
	want.share, want.base.Poll, want.base.Polls = "ipv6", 500*time.Millisecond, 3
	want.parts, want.partOptions.AllowBoth, want.engines = "/p", true, []string{"updown", "minhop"}
	want.files.roots, want.files.dumps = "/r", "/d"
	want.smKey, want.priority, want.interval, want.window, want.babbling = 7, 9, -1, unlimitedWindow, true
	want.port.timeout, want.port.retries, want.log.file, want.log.level = 300*time.Millisecond, 5, "/l", "debug"
	f.base.Ports.Reregister, want.base.Ports.Reregister = nil, nil
	want.files.lids = f.files.lids // of this machine
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v\nwant\n%+v", f, want)
	}
}

// TestConfNamesWhatItCannot: each option that has no effect is named once, with
// its line.
func TestConfNamesWhatItCannot(t *testing.T) {
	conf := confOf(t, "force_link_speed 1", "console socket", "perfmgr TRUE", "nonsense 3", "routing_engine ftree,updn", "qos_ca_max_vls 2", "lmc 0",
		"nonsense 3", "packet_life_time 12", "daemon TRUE", "routing_engine ftree")
	f := smFlags{engines: []string{"auto"}}
	notes, err := conf.apply(none, &f)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"o.conf:1: force_link_speed 1 has no effect: ports keep the speeds that are enabled",
		"o.conf:2: console socket has no effect: heddle sm status, resweep, reroute, groups and dump are the console",
		`o.conf:3: perfmgr "TRUE" has no effect`,
		`o.conf:4: "nonsense" is no option of OpenSM`,
		"o.conf:6: qos_ca_max_vls 2 has no effect without qos",
		"o.conf:9: packet_life_time 12 has no effect: switches keep theirs",
		"o.conf:10: daemon true has no effect: heddle sm stays in the foreground; systemd starts it with packaging/systemd/heddle-sm.service",
		"o.conf:11: routing_engine ftree is not all there is: heddle has no ftree; it uses auto",
	}
	got := notes.lines()
	for i := range got {
		got[i] = got[i][strings.LastIndex(got[i], "o.conf:"):]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfQoS: the lanes of links are as the file says, if it or the flag wants
// them.
func TestConfQoS(t *testing.T) {
	for _, test := range []struct {
		lines []string
		flag  bool
		want  int // lanes of an adapter; 0 for no rules
		notes int
	}{
		{[]string{"qos TRUE", "qos_ca_max_vls 2"}, false, 2, 0},
		{[]string{"qos_max_vls 3"}, true, 3, 0},
		{[]string{"qos TRUE"}, false, 15, 0},
		{[]string{"qos_max_vls 3"}, false, 0, 1},
		{nil, false, 0, 0},
	} {
		f := smFlags{qos: test.flag, effort: 1, share: "off", limits: group.Limits{Groups: 1, Proxied: 1, Share: 100}, traps: sm.TrapRules{Unhealthy: 1, Window: 1}}
		notes, err := confOf(t, test.lines...).apply(func(flag string) bool { return flag == "qos" && test.flag }, &f)
		if err != nil || len(notes) != test.notes {
			t.Fatalf("%v: %v, %v", test.lines, notes, err)
		}
		cfg, err := (&app{}).smConfig(f, slog.New(slog.DiscardHandler))
		switch {
		case err != nil:
			t.Error(err)
		case test.want == 0 && cfg.QoS != nil:
			t.Errorf("%v: %+v", test.lines, cfg.QoS)
		case test.want > 0 && (cfg.QoS == nil || !cfg.QoS.Always || cfg.QoS.Adapter.MaxVLs != test.want || !f.qos):
			t.Errorf("%v: %+v", test.lines, cfg.QoS)
		}
	}
}

// TestConfErrors: what cannot be is an error with its line.
func TestConfErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"sm_inactive TRUE", "o.conf:1: sm_inactive true: a manager that is not to act"},
		{"guid 0x1234", "o.conf:1: guid 0x0000000000001234: "},
	} {
		if _, err := confOf(t, test.line).apply(none, &smFlags{}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v", test.line, err)
		}
	}
	name := filepath.Join(t.TempDir(), "o.conf")
	if err := os.WriteFile(name, []byte("lmc 9\n\nsm_priority x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := name + `:1: lmc "9": want a number from 0 to 7; ` + name + `:3: sm_priority "x": want a number from 0 to 15`
	if _, err := readConf(name); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestFlagsWin over the file, and over where OpenSM looks for files.
func TestFlagsWin(t *testing.T) {
	conf := confOf(t, "sm_priority 9", "guid 0x1234", "lmc 1")
	f := smFlags{priority: 3}
	given := []string{"priority", "port", "guid2lid", "partitions"}
	notes, err := conf.apply(func(flag string) bool { return slices.Contains(given, flag) }, &f)
	if err != nil || len(notes) > 0 || f.priority != 3 || f.base.LIDs.LMC != 1 || f.files.lids != "" {
		t.Errorf("%+v, %v, %v", f, notes, err)
	}
	t.Setenv("OSM_CACHE_DIR", "/cache")
	if _, err := conf.apply(func(flag string) bool { return flag == "port" }, &f); err != nil || f.files.lids != "/cache/"+opensm.LIDsFile {
		t.Errorf("guid2lid is %q, %v", f.files.lids, err)
	}
}

func TestConfFixed(t *testing.T) {
	got := confOf(t, "sa_key 2", "lmc 1", "m_key 5").fixed(confOf(t, "sa_key 3", "m_key 5"))
	if !slices.Equal(got, []string{"sa_key"}) {
		t.Error(got)
	}
}

func TestPortOfGUID(t *testing.T) {
	ports := []umad.LinuxPort{{Info: umad.Info{Name: "mlx5_0/1", PortGUID: 1}}, {Info: umad.Info{Name: "mlx5_1/2", PortGUID: 2}}}
	if spec, ok := portOfGUID(ports, 2); !ok || spec != "umad:mlx5_1/2" {
		t.Errorf("%s, %v", spec, ok)
	}
	if _, ok := portOfGUID(ports, 3); ok {
		t.Error("a GUID that is nobody's")
	}
}

// TestSetupReloads: a broken file leaves the configuration as it was.
func TestSetupReloads(t *testing.T) {
	t.Setenv("OSM_CACHE_DIR", "")
	name := filepath.Join(t.TempDir(), "o.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("lmc 1\nperfmgr TRUE\n")
	var said strings.Builder
	f := smFlags{effort: 1, share: "off", engines: []string{"auto"}, trees: []string{"weave"}, traps: sm.TrapRules{Unhealthy: 1, Window: time.Second}}
	f.limits.Groups, f.limits.Proxied, f.limits.Share = 1, 1, 50
	f.files.conf, f.log.level, f.log.format = name, "info", "text"
	s, err := (&app{err: &said}).smSetup(func(flag string) bool { return flag == "partitions" || flag == "guid2lid" }, f)
	if err != nil {
		t.Fatal(err)
	}
	reread := func() error {
		flags, conf, notes, err := s.read()
		if err == nil {
			err = s.take(flags, conf, notes)
		}
		return err
	}
	write("lmc 9\n")
	if err := reread(); err == nil || s.cfg.LIDs.LMC != 1 {
		t.Errorf("%v, LMC %d", err, s.cfg.LIDs.LMC)
	}
	write("lmc 2\npartition_config_file /nonsense\nperfmgr TRUE\n")
	if err := reread(); err != nil || s.cfg.LIDs.LMC != 2 {
		t.Errorf("%v, LMC %d", err, s.cfg.LIDs.LMC)
	}
	write("lmc 2\nperfmgr TRUE\n")
	if err := reread(); err != nil || strings.Count(said.String(), ":2: perfmgr") != 1 {
		t.Errorf("%v\n%s", err, said.String())
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "guid2lid")
	f := lidFile{path: name, log: slog.New(slog.DiscardHandler)}
	if lids, err := f.read(); err != nil || len(lids) > 0 {
		t.Errorf("%v, %v of a file that is not there", lids, err)
	}
	f.write(map[ib.GUID]plan.LIDRange{1: {First: 4, Last: 5}})
	got, err := os.ReadFile(name)
	if want := "0x0000000000000001 0x0004 0x0005\n\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if err := replaceFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, os.ErrDeadlineExceeded)
	}); err == nil {
		t.Error("no error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: a part of a file stays", entries, err)
	}
	if again, err := os.ReadFile(name); err != nil || string(again) != string(got) {
		t.Errorf("%q, %v", again, err)
	}
}

func TestReadRoots(t *testing.T) {
	name := filepath.Join(t.TempDir(), "roots")
	if err := os.WriteFile(name, []byte("# spines\n0x0002c9 # one\n\n02:00:00:00:00:00:00:01\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	roots, err := readRoots(name)
	if err != nil || !slices.Equal(roots, []ib.GUID{0x2c9, 0x0200000000000001}) {
		t.Errorf("%v, %v", roots, err)
	}
	if err := os.WriteFile(name, []byte("0x1\nspine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readRoots(name); err == nil || !strings.HasPrefix(err.Error(), name+":2: ") {
		t.Error(err)
	}
}

func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "log")
	f := logFlags{file: name, format: "json", level: "warn"}
	l, err := f.open(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	l.Info("too little")
	l.Warn("first")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	l.Warn("before")
	l.reopen()
	l.Warn("after")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{name + ".1": {"first", "before"}, name: {"after"}} {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "\n") != len(want) || !strings.Contains(string(text), `"msg":"`+want[len(want)-1]+`"`) {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
	for _, bad := range []logFlags{{format: "xml", level: "info"}, {format: "text", level: "loud"}, {file: filepath.Join(dir, "no", "log"), format: "text", level: "info"}} {
		if _, err := bad.open(io.Discard); err == nil {
			t.Errorf("%+v opens", bad)
		}
	}
}

// TestConfIsDocumented: each option of OpenSM has a word in docs/from-opensm.md.
func TestConfIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/from-opensm.md")
	if err != nil {
		t.Fatal(err)
	}
	conf, err := os.ReadFile(openSMsDefaults)
	if err != nil {
		t.Fatal(err)
	}
	families := []string{"perfmgr_", "cc_", "qos_ca_", "qos_sw0_", "qos_swe_", "qos_rtr_"}
	for line := range strings.Lines(string(conf)) {
		option, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if option == "" || option[0] == '#' {
			continue
		}
		for _, family := range families {
			if strings.HasPrefix(option, family) {
				option = family
			}
		}
		if !strings.Contains(string(doc), "`"+option+"`") {
			t.Errorf("%s has no word", option)
		}
	}
	for _, o := range confOptions() {
		if o.fixed != strings.Contains(string(doc), "`"+o.name+"`*") {
			t.Errorf("%s: whether it needs a restart is told otherwise", o.name)
		}
	}
}

// TestS5 is of a port that cannot be managed: it is named, and nothing is tried
// again.
func TestS5(t *testing.T) {
	for _, spec := range []string{"umad:heddle-has-none/1", "ibsim:heddle-has-none/"} {
		var out, said strings.Builder
		status := Main([]string{"sm", "--port", spec}, strings.NewReader(""), &out, &said)
		if status != statusFault || !strings.Contains(said.String(), "no such device") || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("%s: status %d\n%s", spec, status, said.String())
		}
	}
}
