{{- define "heliograph.labels" -}}
app.kubernetes.io/name: heliograph
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* What tells the pods of one role: `(list . "api")`. */}}
{{- define "heliograph.selector" -}}
app.kubernetes.io/name: heliograph
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "heliograph.secret" -}}
{{ .Values.secret.existing | default (printf "%s-settings" .Release.Name) }}
{{- end }}

{{- define "heliograph.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary .Release.Name "default" .Values.serviceAccount.create) }}
{{- end }}

{{- /* What the two roles' pods have in common: `(list . "api")`. The settings are hashed, so that a change restarts them. */}}
{{- define "heliograph.podMetadata" -}}
{{- $ := index . 0 -}}
labels:
  {{- include "heliograph.labels" $ | nindent 2 }}
  app.kubernetes.io/component: {{ index . 1 }}
annotations:
  checksum/settings: {{ list $.Values.settings $.Values.secret.values | toJson | sha256sum }}
{{- end }}

{{- define "heliograph.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* The container of a role: `(list . "api" "8080" "PORT")`, with its port and the setting of that. */}}
{{- define "heliograph.container" -}}
{{- $ := index . 0 -}}
{{- $role := index . 1 -}}
{{- $scheme := ternary "HTTPS" "HTTP" (ne $.Values.tls.secretName "") -}}
name: {{ $role }}
image: {{ printf "%s:%s" (required "image.repository must be set: build an image with the Dockerfile and push it" $.Values.image.repository) ($.Values.image.tag | default $.Chart.AppVersion) }}
imagePullPolicy: {{ $.Values.image.pullPolicy }}
args: [{{ $role }}]
envFrom:
  - configMapRef:
      name: {{ $.Release.Name }}-settings
  - secretRef:
      name: {{ include "heliograph.secret" $ }}
env:
  - name: {{ index . 3 }}
    value: {{ index . 2 | quote }}
  - name: DATA_DIR
    value: /data
  {{- if $.Values.tls.secretName }}
  - name: TLS_CERT
    value: /tls/tls.crt
  - name: TLS_KEY
    value: /tls/tls.key
  {{- end }}
ports:
  - name: http
    containerPort: {{ index . 2 }}
# A start may have to update the schema, which takes minutes in a large database.
startupProbe:
  httpGet: { path: /health/live, port: http, scheme: {{ $scheme }} }
  periodSeconds: 5
  failureThreshold: 120
livenessProbe:
  httpGet: { path: /health/live, port: http, scheme: {{ $scheme }} }
  periodSeconds: 10
  timeoutSeconds: 3
readinessProbe:
  httpGet: { path: /health/ready, port: http, scheme: {{ $scheme }} }
  periodSeconds: 5
  # The program answers within two seconds, whatever it waits for.
  timeoutSeconds: 3
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml (index $.Values $role).resources | nindent 2 }}
volumeMounts:
  - name: data
    mountPath: /data
  {{- if $.Values.tls.secretName }}
  - name: tls
    mountPath: /tls
    readOnly: true
  {{- end }}
{{- end }}

{{- /* Where the pods of a role may run: `(list . "api")`; on different nodes, if there are enough. */}}
{{- define "heliograph.placement" -}}
{{- $ := index . 0 -}}
{{- $values := index $.Values (index . 1) -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "heliograph.selector" . | nindent 8 }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
